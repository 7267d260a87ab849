#pragma once

namespace trireme {

/// How many forks lie between this process and the one in which it was first asked: it changes in a
/// forked child. Threads and locks do not survive a fork, so what belongs to the parent's worlds
/// must be left alone there.
[[nodiscard]] int fork_generation() noexcept;

}  // namespace trireme
