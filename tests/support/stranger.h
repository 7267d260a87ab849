#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>

#include "core/unique_fd.h"

namespace trireme::test {

/// A connection to a port of this host, of somebody who knows no protocol; empty where none comes
/// about.
inline UniqueFd stranger(std::uint16_t port) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(fd.get(), where, sizeof address) != 0) fd.reset();
    return fd;
}

/// Whether the other end ends the connection, in a time that only a broken program needs.
inline bool is_dropped(const UniqueFd& fd) {
    const timeval patience{40, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char bytes[512];
    ssize_t got = 1;
    while (got > 0) got = ::recv(fd.get(), bytes, sizeof bytes, 0);
    return got == 0 || errno == ECONNRESET;
}

/// The memory of this process that is in use; sanitizers keep what was freed.
inline std::size_t resident_bytes() {
    std::size_t total = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

inline constexpr bool is_sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

}  // namespace trireme::test
