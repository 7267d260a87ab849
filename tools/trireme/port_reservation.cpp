#include "port_reservation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "failure.h"

namespace trireme::tool {
namespace {

// Bound to every address, IPv6 and IPv4 at once where IPv6 exists: rank 0 may choose any of them.
UniqueFd bind_any_v6() {
    UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int off = 0;
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    if (!fd || ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return UniqueFd();
    }
    return fd;
}

UniqueFd bind_any_v4() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw system_failure("cannot reserve a TCP port for MASTER_PORT");
    }
    return fd;
}

}  // namespace

PortReservation::PortReservation() : socket_(bind_any_v6()) {
    if (!socket_) {
        socket_ = bind_any_v4();
    }
    const int on = 1;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        throw system_failure("cannot reserve a TCP port for MASTER_PORT");
    }
    port_ = ntohs(address.ss_family == AF_INET6
                      ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                      : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace trireme::tool
