#pragma once

#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "store/endpoint.h"

namespace trireme::store {

/// Sockets that listen, all on one port.
struct Listeners {
    std::vector<UniqueFd> sockets;
    Endpoint endpoint;  // as asked for, with the port that it became
};

/// Listens on every address of `endpoint.host` that this host has: a name such as localhost may
/// stand for an IPv4 and an IPv6 one. "" is every address of the host, IPv4 and IPv6; "0.0.0.0"
/// and "::" are those of one kind. With port 0 the kernel picks.
///
/// Throws `Error(store)` at once, with host and port, where the port is taken or the host is not
/// this one.
[[nodiscard]] Listeners listen_on(const Endpoint& endpoint);

}  // namespace trireme::store
