#include "group/world_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "group/backend_runner.h"
#include "group/bootstrap.h"
#include "group/group_state.h"
#include "link/shm/inbox.h"
#include "store/rendezvous.h"
#include "trireme/error.h"

namespace trireme {

namespace {

// How long a leaving rank waits for a full wire to take its goodbye, and the holder of the store
// for ranks that are still starting.
constexpr std::chrono::seconds parting{2};
constexpr Timeout last_start{30'000};

}  // namespace

WorldState::WorldState(Rendezvous meeting, const WorldOptions& options)
    : options_(options),
      rank_(meeting.rank),
      size_(meeting.size),
      choice_(options.algorithm),
      server_(std::move(meeting.server)),
      store_(std::move(meeting.store)),
      recorder_(meeting.rank) {
    const auto deadline = Engine::after(options_.timeout);
    Connections connections = connect_all(
        *store_, rank_, size_, options_, engine_.doorbell(), recorder_.address(), deadline,
        local_address_towards(meeting.host.empty() ? "127.0.0.1" : meeting.host));
    inbox_ = std::move(connections.inbox);
    recorder_.set_token(connections.token);
    lookout_.emplace(std::move(connections.boards), connections.token);
    {
        const Engine::Turn turn(engine_);
        for (int peer = 0; peer < size_; ++peer) {
            Connection& connection = connections.peers[static_cast<std::size_t>(peer)];
            links_.push_back(std::make_unique<Link>(
                engine_, *this, peer, std::move(connection.wire), std::move(connection.memory)));
        }
        if (inbox_) engine_.set_sleep_flag(&inbox_->sleeping());
        engine_.set_watcher(this);
    }
    // Per rank: 2 where its memory can be reached, 1 where it is on this host, else 0.
    std::string reach;
    for (const auto& link : links_) {
        const bool here = link->peer() == rank_ || link->transport() == "shm";
        reach += link->peer() == rank_ || link->memory() != nullptr ? '2' : here ? '1' : '0';
    }
    store_->set(fmt::format("reach/{}", rank_), reach);
    if (store_->add("started", 1) == size_) store_->set("all-started", "1");
}

WorldState::~WorldState() { shut_down(); }

void WorldState::shut_down() noexcept {
    if (std::exchange(shut_down_, true)) return;
    if (engine_.after_fork()) {
        // The connections are the parent's: a child that ends must not hang up for it.
        for (auto& link : links_) {
            [[maybe_unused]] const Link* const kept = link.release();
        }
        return;
    }
    try {
        engine_.drain();
        {
            const Engine::Turn turn(engine_);
            const Error error(ErrorCode::aborted,
                              fmt::format("rank {} has destroyed its World", rank_));
            const auto groups = groups_;  // failing one changes nothing here, but be safe
            for (const auto& [stream, group] : groups) group->fail(error, false);
            engine_.ready().run();
            for (const auto& link : links_) link->leave(Engine::Clock::now() + parting);
        }
        engine_.stop();
        if (server_) store_->wait(std::vector<std::string>{"all-started"}, last_start);
    } catch (const std::exception&) {
        // Leaving cannot fail: the peers notice a rank that is gone in any case.
    }
    const Engine::Turn turn(engine_);
    engine_.set_sleep_flag(nullptr);
    engine_.set_watcher(nullptr);
    links_.clear();
    inbox_.reset();
    store_.reset();
    server_.reset();
}

void WorldState::look(std::chrono::steady_clock::time_point now) {
    std::vector<board::Wait> waits;
    for (const auto& [stream, group] : groups_) group->look(now, waits);
    if (!waits.empty() || shows_waits_) recorder_.show_waits(waits, now);
    shows_waits_ = !waits.empty();
    if (shows_waits_) look_for_circle();
}

void WorldState::enter(GroupState& group) {
    groups_.emplace(group.stream(), &group);
    if (const auto early = early_failures_.find(group.stream()); early != early_failures_.end()) {
        group.fail(early->second, false);
        early_failures_.erase(early);
    }
}

void WorldState::leave(GroupState& group) noexcept {
    groups_.erase(group.stream());
    retired_.insert(group.stream());
    for (const auto& link : links_) link->end_stream(group.stream());
}

void WorldState::stream_failed(int peer, std::uint32_t stream, const Error& error) {
    if (const auto found = groups_.find(stream); found != groups_.end()) {
        found->second->fail_reported(peer, error);
    } else if (!retired(stream)) {
        early_failures_.emplace(stream, error);
    }
}

void WorldState::peer_left(int /*peer*/, std::uint32_t stream, const Error& error) {
    // The others may wait for this rank and not for the one that left.
    if (const auto found = groups_.find(stream); found != groups_.end())
        found->second->fail_under_way(error);
}

void WorldState::link_lost(int peer, const Error& error) {
    const auto groups = groups_;
    for (const auto& [stream, group] : groups) {
        const auto ranks = group->ranks();
        if (std::find(ranks.begin(), ranks.end(), peer) != ranks.end())
            group->fail_under_way(error);
    }
}

void WorldState::came_unexpected(int peer, const Envelope& envelope) {
    const auto found = groups_.find(envelope.key.stream);
    if (found == groups_.end()) return;
    if (envelope.key.tag < 0)
        found->second->check_early(peer, envelope);
    else
        found->second->message_came(peer, envelope);
}

bool WorldState::retired(std::uint32_t stream) const noexcept { return retired_.contains(stream); }

}  // namespace trireme
