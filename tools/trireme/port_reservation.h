#pragma once

#include <cstdint>

#include "core/unique_fd.h"

namespace trireme::tool {

/// A TCP port for MASTER_PORT that is free for rank 0 and for nobody else.
///
/// Whoever asks the kernel for a free port, closes it and hands on the number races with all
/// others who do the same. This one stays bound, without listening, while the job runs. Linux
/// lets a second socket bind and listen on such a port when both have SO_REUSEADDR set, as the
/// TCPStore of PyTorch, libuv, Asio and most servers do; and it never picks the port for somebody
/// who asks for any (bind to port 0, or connect). The option is set after the bind: set before,
/// the kernel could have picked a port that another job holds in the same way.
/// A program that listens without SO_REUSEADDR gets EADDRINUSE: `--master-port` is for it.
class PortReservation {
public:
    PortReservation();  ///< throws Failure where no port is free

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    UniqueFd socket_;
    std::uint16_t port_ = 0;
};

}  // namespace trireme::tool
