#include "store/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "trireme/error.h"

namespace trireme::store {
namespace {

// Thousands of ranks connect at once; the kernel cuts this to net.core.somaxconn.
constexpr int backlog = 16384;

struct Attempt {
    UniqueFd socket;
    int error = 0;
};

Attempt listen_at(const Address& address, bool both_kinds) {
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    UniqueFd fd(::socket(address.family(), type, 0));
    if (!fd) {
        return {UniqueFd(), errno};
    }
    // Connections of an earlier server that wait out their time do not block the port; another
    // socket that listens still does.
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
        const int only_v6 = both_kinds ? 0 : 1;
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
    }
    if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), backlog) != 0) {
        return {UniqueFd(), errno};
    }
    return {std::move(fd), 0};
}

[[noreturn]] void refuse(const Endpoint& endpoint, const std::string& why, int error) {
    const char* hint = "";
    if (error == EADDRINUSE) {
        hint = "; another program, or another job, listens on that port: choose a free one";
    } else if (error == EADDRNOTAVAIL) {
        hint = "; that is no address of this host";
    }
    throw Error(ErrorCode::store,
                fmt::format("the tcp store cannot listen on {}: {}{}", endpoint.text(), why, hint));
}

// One socket for all addresses of both kinds; IPv4 alone where the kernel has no IPv6.
Listeners listen_everywhere(Endpoint endpoint) {
    Attempt attempt;
    for (const char* const host : {"::", "0.0.0.0"}) {
        attempt = listen_at(resolve({host, endpoint.port}).addresses.at(0), true);
        if (attempt.socket || attempt.error == EADDRINUSE) {
            break;
        }
    }
    if (!attempt.socket) {
        endpoint.host = "*";
        refuse(endpoint, std::strerror(attempt.error), attempt.error);
    }
    endpoint.port = local_address(attempt.socket.get()).port();
    Listeners out{{}, std::move(endpoint)};
    out.sockets.push_back(std::move(attempt.socket));
    return out;
}

}  // namespace

Listeners listen_on(const Endpoint& endpoint) {
    if (endpoint.host.empty()) {
        return listen_everywhere(endpoint);
    }
    const Resolved resolved = resolve(endpoint);
    if (resolved.addresses.empty()) {
        refuse(endpoint, resolved.error, 0);
    }
    // The port that the kernel picked for the first address may be taken on the second.
    constexpr int rounds = 16;
    int error = 0;
    for (int round = 0; round < (endpoint.port == 0 ? rounds : 1); ++round) {
        Listeners out{{}, endpoint};
        for (Address address : resolved.addresses) {
            address.set_port(out.endpoint.port);
            Attempt attempt = listen_at(address, false);
            if (attempt.socket) {
                out.endpoint.port = local_address(attempt.socket.get()).port();
                out.sockets.push_back(std::move(attempt.socket));
            } else if (error = attempt.error; error == EADDRINUSE) {
                out.sockets.clear();
                break;
            }
        }
        if (!out.sockets.empty()) {
            return out;
        }
    }
    refuse(endpoint, std::strerror(error), error);
}

}  // namespace trireme::store
