#pragma once

#include <string>

// The keys that the launcher writes into the store which it holds for the job (TRIREME_STORE), and
// that the library reads to say why a peer is gone.

namespace trireme {

/// Set when the rank has ended, whatever the way; the value reads after "rank 3 ": "exited with
/// code 2", "was killed by signal 9 (SIGKILL)". Absent while the rank runs.
[[nodiscard]] inline std::string launcher_exit_key(int rank) {
    return "launcher/exit/" + std::to_string(rank);
}

}  // namespace trireme
