#pragma once

#include <sys/types.h>

#include <string>

#include "core/unique_fd.h"

namespace trireme::shm {

/// The process at the other end of a Unix socket: whether it is still there.
///
/// Two things say so. The socket hangs up when the peer leaves the world or dies, unless a child
/// that it forked still holds a copy. The process descriptor speaks of the peer alone, but there
/// is none where the peer's process cannot be seen from here, and none is needed where the peer is
/// a thread of this process.
class PeerProcess {
public:
    explicit PeerProcess(UniqueFd socket) noexcept;

    /// 0 where it cannot be seen from here.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// The peer is a rank in this very process.
    [[nodiscard]] bool same() const noexcept;
    /// Whether its death can be noticed and, if need be, caused.
    [[nodiscard]] bool controllable() const noexcept { return same() || process_; }

    /// Becomes readable when there is something for `look` to see.
    [[nodiscard]] int descriptor() const noexcept { return both_ ? both_.get() : socket_.get(); }

    /// Looks whether the peer has left or died.
    void look() noexcept;
    [[nodiscard]] bool gone() const noexcept { return gone_; }
    /// What became of it; empty while it is there.
    [[nodiscard]] std::string story() const;

    /// Whether the process has ended, and all its threads with it.
    [[nodiscard]] bool ended() const noexcept;
    /// Whether it does not run because a signal or a debugger stopped it.
    [[nodiscard]] bool stopped() const noexcept;
    /// Kills it and waits for its end; `reason` goes into its story.
    void kill(std::string reason) noexcept;

    /// Leaves: the peer's `look` will see it.
    void hang_up() noexcept;

private:
    UniqueFd socket_;
    UniqueFd process_;
    UniqueFd both_;  // an epoll of the two above
    pid_t pid_ = 0;
    bool gone_ = false;
    bool dead_ = false;
    std::string killed_because_;
};

}  // namespace trireme::shm
