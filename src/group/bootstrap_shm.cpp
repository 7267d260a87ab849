#include "group/bootstrap_shm.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "group/bootstrap_socket.h"
#include "link/shm/shm_memory.h"
#include "link/shm/shm_peer.h"
#include "link/shm/shm_wire.h"

namespace trireme::bootstrap {

namespace {

// What one side has found out about the other.
struct Trial {
    shm::PeerInbox inbox;
    shm::PeerProcess process;
    UniqueFd doorbell;
    bool memory_works;
};

bool can_read(const shm::PeerProcess& process, const Hello& theirs) noexcept {
    if (process.pid() <= 0 || !process.controllable()) return false;
    shm::Token found{};
    const iovec here{found.data(), found.size()};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(theirs.token_address)),
                      found.size()};
    const ssize_t bytes = ::process_vm_readv(process.pid(), &here, 1, &there, 1, 0);
    return bytes == static_cast<ssize_t>(found.size()) && found == theirs.token;
}

Trial try_out(const Context& context, UniqueFd socket, const Hello& theirs,
              std::vector<UniqueFd> descriptors, std::string& problem) {
    descriptors.resize(2);
    shm::PeerInbox inbox(descriptors[0], context.rank, context.size, context.token, problem);
    shm::PeerProcess process(std::move(socket));
    const bool memory_works = can_read(process, theirs);
    return {std::move(inbox), std::move(process), std::move(descriptors[1]), memory_works};
}

bool enough(const Context& context, const std::vector<UniqueFd>& descriptors) {
    // The kernel drops what the limit has no room for.
    if (descriptors.size() < 2) {
        throw_system("cannot receive the descriptors of another rank", EMFILE, context.size);
    }
    return descriptors.size() == 2;
}

Connection connection(const Context& context, int peer, Trial trial, bool memory) {
    auto known = std::make_shared<ShmPeer>(
        ShmPeer{peer, std::move(trial.inbox), std::move(trial.process), std::move(trial.doorbell)});
    Connection result;
    result.wire = std::make_unique<ShmWire>(context.inbox, known);
    if (memory) result.memory = std::make_unique<ShmMemory>(context.inbox, known);
    return result;
}

Hello with_findings(const Context& context, const Trial& trial) {
    Hello hello = context.hello();
    hello.inbox_works = trial.inbox ? 1 : 0;
    hello.memory_works = trial.memory_works ? 1 : 0;
    return hello;
}

[[noreturn]] void throw_silent(const Context& context, int peer) {
    throw Error(ErrorCode::rendezvous,
                fmt::format("rank {} did not answer rank {} over its Unix socket within {}", peer,
                            context.rank, context.allowance()),
                {peer});
}

}  // namespace

std::optional<Connection> connect_shm(const Context& context, int peer, std::string& problem) {
    const std::string& name = context.entries[static_cast<std::size_t>(peer)].unix_name;
    for (int tries = 0;; context.pause(tries++)) {
        if (context.late()) throw_silent(context, peer);
        UniqueFd socket = connect_unix(name);
        if (!socket) {
            const int error = errno;
            if (error == EMFILE || error == ENFILE) {
                throw_system("cannot connect to another rank", error, context.size);
            }
            if (error == EAGAIN || error == EINTR) continue;  // its queue is full
            problem = fmt::format(
                "its Unix socket does not answer here, so it is on another host "
                "or in another network namespace: {}",
                std::strerror(error));
            return std::nullopt;
        }
        if (!same_user(socket.get())) {
            problem = "it belongs to another user";
            return std::nullopt;
        }
        Hello theirs;
        std::vector<UniqueFd> descriptors;
        if (!send_hello(socket.get(), context.hello(),
                        {context.inbox->descriptor(), context.doorbell})) {
            continue;
        }
        if (!context.await(socket.get(), POLLIN)) throw_silent(context, peer);
        if (receive_hello(socket.get(), theirs, descriptors) != Received::complete ||
            !context.is_ours(theirs) || theirs.rank != peer || !enough(context, descriptors)) {
            continue;
        }
        const int fd = socket.get();
        Trial trial = try_out(context, std::move(socket), theirs, std::move(descriptors), problem);
        if (!send_hello(fd, with_findings(context, trial))) continue;
        if (trial.inbox && theirs.inbox_works != 0) {
            const bool memory = trial.memory_works && theirs.memory_works != 0;
            return connection(context, peer, std::move(trial), memory);
        }
        if (problem.empty()) problem = "it cannot map this rank's memory";
        return std::nullopt;
    }
}

std::optional<Connection> accept_shm(const Context& context, UniqueFd socket, const Hello& theirs,
                                     std::vector<UniqueFd> descriptors, std::string& problem) {
    if (!enough(context, descriptors)) return std::nullopt;
    const int fd = socket.get();
    Trial trial = try_out(context, std::move(socket), theirs, std::move(descriptors), problem);
    const Hello mine = with_findings(context, trial);
    if (!send_hello(fd, mine, {context.inbox->descriptor(), context.doorbell})) return std::nullopt;
    if (!context.await(fd, POLLIN)) throw_silent(context, theirs.rank);
    Hello findings;
    std::vector<UniqueFd> none;
    if (receive_hello(fd, findings, none) != Received::complete || !context.is_ours(findings)) {
        return std::nullopt;
    }
    if (trial.inbox && findings.inbox_works != 0) {
        const bool memory = trial.memory_works && findings.memory_works != 0;
        return connection(context, theirs.rank, std::move(trial), memory);
    }
    if (problem.empty()) problem = "it cannot map this rank's memory";
    return std::nullopt;
}

Error not_shared(int rank, int peer, const std::string& problem) {
    return Error(ErrorCode::rendezvous,
                 fmt::format("rank {} cannot share memory with rank {}, which the transport shm "
                             "(TRIREME_TRANSPORT) demands: {}",
                             rank, peer, problem),
                 {peer});
}

}  // namespace trireme::bootstrap
