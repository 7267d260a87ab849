#include "group/bootstrap_accept.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "group/bootstrap_greeting.h"
#include "group/bootstrap_shm.h"
#include "group/bootstrap_socket.h"
#include "link/tcp/tcp_wire.h"

namespace trireme::bootstrap {

namespace {

using namespace std::chrono_literals;

// A rank says hello as soon as it is connected; who does not is a stranger.
constexpr auto patience_with_strangers = 5s;
// When more wait, the oldest one is dropped; a rank that it hits tries again.
constexpr std::size_t most_strangers = 256;

/// Somebody who has connected and not yet said who it is.
struct Stranger {
    UniqueFd socket;
    bool is_unix;
    Clock::time_point until;
    Greeting greeting;  ///< over TCP
    Hello hello{};      ///< over a Unix socket, with
    std::vector<UniqueFd> descriptors{};
};

class Acceptor {
public:
    Acceptor(const Context& context, const UniqueFd& unix_listener, const UniqueFd& tcp_listener,
             std::vector<Connection>& peers)
        : context_(context),
          unix_listener_(unix_listener.get()),
          tcp_listener_(tcp_listener.get()),
          peers_(peers) {}

    void run() {
        for (;;) {
            const std::vector<int> missing = missing_ranks();
            if (missing.empty()) return;
            if (context_.late()) {
                throw Error(ErrorCode::rendezvous,
                            fmt::format("ranks did not connect to rank {} within {}: {}",
                                        context_.rank, context_.allowance(), listed(missing)),
                            missing);
            }
            round();
        }
    }

private:
    [[nodiscard]] std::vector<int> missing_ranks() const {
        std::vector<int> missing;
        for (int rank = context_.rank + 1; rank < context_.size; ++rank) {
            if (!peers_[static_cast<std::size_t>(rank)].wire) missing.push_back(rank);
        }
        return missing;
    }

    void round() {
        std::vector<pollfd> entries{{unix_listener_, POLLIN, 0}, {tcp_listener_, POLLIN, 0}};
        for (const Stranger& stranger : strangers_) {
            entries.push_back({stranger.socket.get(), POLLIN, 0});
        }
        const int ready = ::poll(entries.data(), entries.size(), 200);
        if (ready <= 0) {
            context_.check_others();
        } else {
            std::size_t i = 2;
            for (auto stranger = strangers_.begin(); stranger != strangers_.end(); ++i) {
                const bool done = entries[i].revents != 0 && listen_to(*stranger);
                stranger = done ? strangers_.erase(stranger) : std::next(stranger);
            }
            if (entries[0].revents != 0) admit(unix_listener_, true);
            if (entries[1].revents != 0) admit(tcp_listener_, false);
        }
        const auto now = Clock::now();
        std::erase_if(strangers_, [&](const Stranger& one) { return one.until < now; });
    }

    void admit(int listener, bool is_unix) {
        for (;;) {
            UniqueFd socket = accept_from(listener, context_.size);
            if (!socket) return;
            if (is_unix && !same_user(socket.get())) continue;
            if (strangers_.size() == most_strangers) strangers_.pop_front();
            strangers_.push_back({std::move(socket), is_unix,
                                  Clock::now() + patience_with_strangers,
                                  Greeting(context_, Greeting::Side::accepts)});
        }
    }

    // Returns whether the stranger is none any more: it has become a peer, or is to be dropped.
    bool listen_to(Stranger& stranger) {
        const int fd = stranger.socket.get();
        std::string problem;
        const Received received = stranger.is_unix
                                      ? receive_hello(fd, stranger.hello, stranger.descriptors)
                                      : stranger.greeting.go_on(fd, problem);
        if (received == Received::partly) return false;
        if (received != Received::complete) return true;
        if (!stranger.is_unix) {
            welcome_over_tcp(stranger);
        } else if (context_.is_ours(stranger.hello) && stranger.hello.rank > context_.rank) {
            welcome(stranger);
        }
        return true;
    }

    // A rank that comes again has given up its earlier connection.
    void welcome_over_tcp(Stranger& stranger) {
        const int rank = stranger.greeting.peer();
        if (rank < context_.rank) return;
        peers_[static_cast<std::size_t>(rank)] = {
            std::make_unique<TcpWire>(std::move(stranger.socket), context_.heartbeat), nullptr};
    }

    void welcome(Stranger& stranger) {
        const int rank = stranger.hello.rank;
        Connection& place = peers_[static_cast<std::size_t>(rank)];
        std::string problem;
        std::optional<Connection> shared =
            accept_shm(context_, std::move(stranger.socket), stranger.hello,
                       std::move(stranger.descriptors), problem);
        if (shared) {
            place = std::move(*shared);
        } else if (!problem.empty() && context_.transport == Transport::shm) {
            throw not_shared(context_.rank, rank, problem);
        }
    }

    const Context& context_;
    int unix_listener_;
    int tcp_listener_;
    std::vector<Connection>& peers_;
    std::list<Stranger> strangers_;  // oldest first
};

}  // namespace

void accept_higher(const Context& context, const UniqueFd& unix_listener,
                   const UniqueFd& tcp_listener, std::vector<Connection>& peers) {
    Acceptor(context, unix_listener, tcp_listener, peers).run();
}

}  // namespace trireme::bootstrap
