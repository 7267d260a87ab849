#pragma once

namespace trireme::verify {

/// Whether this process is a rank already: RANK or WORLD_SIZE is set.
[[nodiscard]] bool is_rank();

/// Becomes `trireme run -n <ranks>` of this program with the same arguments. Returns only by
/// throwing `UsageError`, where there is no `trireme` beside this program.
[[noreturn]] void launch(int ranks, int argc, char** argv);

}  // namespace trireme::verify
