#include "group/bootstrap_connect.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "group/bootstrap_greeting.h"
#include "group/bootstrap_shm.h"
#include "group/bootstrap_socket.h"
#include "link/tcp/tcp_wire.h"

namespace trireme::bootstrap {

namespace {

// Whether the peer is the one that is meant and lets this rank in; else `problem` says why.
bool greet(const Context& context, int socket, int peer, std::string& problem) {
    Greeting greeting(context, Greeting::Side::connects);
    Received received = greeting.open(socket) ? Received::partly : Received::failed;
    problem = "the connection was accepted, but nothing was answered";
    while (received == Received::partly && context.await(socket, POLLIN)) {
        received = greeting.go_on(socket, problem);
    }
    if (received == Received::complete && greeting.peer() != peer) {
        problem = fmt::format("rank {} answers", greeting.peer());
        return false;
    }
    return received == Received::complete;
}

// One try at one address; where it fails, `problem` says why.
UniqueFd try_address(const Context& context, int peer, const store::Address& address,
                     std::string& problem) {
    UniqueFd socket = start_connect(address);
    int error = socket ? 0 : errno;
    if (error == EMFILE || error == ENFILE) {
        throw_system("cannot connect to another rank", error, context.size);
    }
    if (socket && !context.await(socket.get(), POLLOUT)) {
        problem = "no answer";
        return {};
    }
    if (socket) error = outcome(socket.get());
    if (error != 0) {
        problem = std::strerror(error);
        return {};
    }
    if (!greet(context, socket.get(), peer, problem)) return {};
    return socket;
}

Connection connect_tcp(const Context& context, int peer) {
    const store::Endpoint& endpoint = context.entries[static_cast<std::size_t>(peer)].tcp;
    std::string problem;
    for (int tries = 0;; context.pause(tries++)) {
        const store::Resolved resolved = store::resolve(endpoint);
        if (resolved.addresses.empty()) problem = resolved.error;
        for (const store::Address& address : resolved.addresses) {
            UniqueFd socket = try_address(context, peer, address, problem);
            if (socket)
                return {std::make_unique<TcpWire>(std::move(socket), context.heartbeat), nullptr};
        }
        if (context.late()) break;
    }
    throw Error(ErrorCode::rendezvous,
                fmt::format("rank {} cannot reach rank {} at {} within {}: {}", context.rank, peer,
                            endpoint.text(), context.allowance(), problem),
                {peer});
}

}  // namespace

Connection connect_to(const Context& context, int peer) {
    const Entry& entry = context.entries[static_cast<std::size_t>(peer)];
    std::string problem = "it does not offer shared memory";
    if (context.inbox && !entry.unix_name.empty()) {
        std::optional<Connection> shared = connect_shm(context, peer, problem);
        if (shared) return std::move(*shared);
    }
    if (context.transport == Transport::shm) throw not_shared(context.rank, peer, problem);
    if (entry.tcp.host.empty()) {
        if (context.transport == Transport::tcp) problem = "this rank uses TCP only";
        throw Error(
            ErrorCode::rendezvous,
            fmt::format("ranks {} and {} have no transport in common: rank {} allows shared "
                        "memory only (TRIREME_TRANSPORT), and {}",
                        context.rank, peer, peer, problem),
            {peer});
    }
    return connect_tcp(context, peer);
}

}  // namespace trireme::bootstrap
