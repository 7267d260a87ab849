#include "group/bootstrap.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <utility>

#include "group/bootstrap_accept.h"
#include "group/bootstrap_connect.h"
#include "group/bootstrap_context.h"
#include "group/bootstrap_socket.h"
#include "group/interface.h"
#include "link/self/self_wire.h"

namespace trireme {

namespace {

using namespace bootstrap;

// Where the Yama module restricts access to another process's memory to its parents, a process can
// still allow it. There may be many peers, and only one could be named: all of the same user, which
// is what the kernel allows without Yama. Without it this call fails, and changes nothing.
void allow_peers_to_read() noexcept {
#ifdef PR_SET_PTRACER
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

std::shared_ptr<ShmInbox> make_inbox(const Context& context) {
    if (context.transport == Transport::tcp) return nullptr;
    try {
        return std::make_shared<ShmInbox>(context.size);
    } catch (const Error&) {
        if (context.transport == Transport::shm) throw;
        return nullptr;
    }
}

// What decides how operations run.
std::string shared_settings(const WorldOptions& options) {
    return fmt::format("TRIREME_ALGORITHM=\"{}\" TRIREME_REPRODUCIBLE={} TRIREME_TRACE {}",
                       options.algorithm, options.reproducible ? 1 : 0,
                       options.trace.empty() ? "not set" : "set");
}

std::string own_address(const WorldOptions& options, const std::string& usual) {
    if (!options.address.empty()) return options.address;
    return options.interface.empty() ? usual : interface_address(options.interface);
}

void connect_others(Context& context, const std::string& address, Entry entry,
                    std::vector<Connection>& peers) {
    UniqueFd unix_listener;
    TcpListener tcp_listener;
    if (context.inbox) {
        allow_peers_to_read();
        entry.unix_name = random_name();
        unix_listener = listen_unix(entry.unix_name, context.size);
    }
    if (context.transport != Transport::shm) {
        tcp_listener = listen_tcp(address, context.size);
        entry.tcp = tcp_listener.endpoint;
    }
    publish(context, entry);
    gather(context);
    check_settings(context);
    if (context.inbox) context.inbox->set_token(context.token);
    for (int peer = 0; peer < context.rank; ++peer) {
        peers[static_cast<std::size_t>(peer)] = connect_to(context, peer);
    }
    accept_higher(context, unix_listener, tcp_listener.socket, peers);
}

}  // namespace

Connections connect_all(Store& store, int rank, int size, const WorldOptions& options, int doorbell,
                        const BoardAddress& board, int launched_as, Clock::time_point deadline,
                        const std::string& address) {
    make_room_for_descriptors(size);
    Context context{.store = store,
                    .rank = rank,
                    .size = size,
                    .transport = options.transport,
                    .heartbeat = options.heartbeat,
                    .doorbell = doorbell,
                    .start = Clock::now(),
                    .deadline = deadline};
    Connections result;
    result.peers.resize(static_cast<std::size_t>(size));
    result.peers[static_cast<std::size_t>(rank)].wire = std::make_unique<SelfWire>();
    try {
        context.inbox = make_inbox(context);
        if (size == 1) context.token = random_token();  // it has nobody to agree with
        if (size > 1) {
            Entry entry;
            entry.board = board;
            entry.launched_as = launched_as;
            entry.settings = shared_settings(options);
            connect_others(context, own_address(options, address), std::move(entry), result.peers);
        }
    } catch (const Error& error) {
        // At the deadline each rank has its own error, which says more than another's.
        if (!context.late()) context.report(error);
        throw;
    }
    for (const Entry& entry : context.entries) {
        result.boards.push_back(entry.board);
        result.launched_as.push_back(entry.launched_as);
    }
    result.token = context.token;
    result.inbox = std::move(context.inbox);
    if (result.inbox) result.inbox->close_descriptor();
    return result;
}

std::string local_address_towards(const std::string& host) {
    constexpr std::uint16_t any_port = 9;  // nothing is sent there
    for (const store::Address& address :
         store::resolve({store::without_brackets(host), any_port}).addresses) {
        const UniqueFd socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) continue;
        if (address.is_loopback() &&
            !store::means_the_same_everywhere(store::without_brackets(host)))
            return host;
        const std::string text = store::local_address(socket.get()).text();
        return store::without_brackets(text.substr(0, text.rfind(':')));
    }
    return "127.0.0.1";
}

}  // namespace trireme
