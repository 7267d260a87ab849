#include "group/world_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

#include "group/backend_runner.h"
#include "group/bootstrap.h"
#include "group/group_state.h"
#include "group/last_words.h"
#include "group/shrink.h"
#include "link/shm/commons.h"
#include "link/shm/inbox.h"
#include "observe/observation.h"
#include "store/launcher_keys.h"
#include "store/rendezvous.h"
#include "trireme/error.h"

namespace trireme {

namespace {

// How long a leaving rank waits for a full wire to take its goodbye, and the holder of the store
// for ranks that are still starting.
constexpr std::chrono::seconds parting{2};
constexpr Timeout last_start{30'000};
constexpr Timeout shortest_heartbeat{3'000};
constexpr std::chrono::milliseconds last_breath{300};
// A launcher notices at once that a rank has ended; its word needs a moment to get here.
constexpr Timeout obituary{500};
// For ranks that are about to make the same group.
constexpr std::chrono::seconds last_mapping{3};

int rank_for_launcher() noexcept {
    const char* const text = std::getenv("RANK");
    return text != nullptr ? std::atoi(text) : -1;
}

}  // namespace

WorldState::WorldState(Rendezvous meeting, const WorldOptions& options)
    : options_(options),
      rank_(meeting.rank),
      size_(meeting.size),
      choice_(options.algorithm),
      server_(std::move(meeting.server)),
      store_(std::move(meeting.store)),
      launcher_(std::move(meeting.launcher)),
      store_outlives_ranks_(meeting.outlives_ranks),
      host_(std::move(meeting.host)),
      exceptions_at_start_(std::uncaught_exceptions()),
      recorder_(meeting.rank, meeting.size) {
    if (options_.heartbeat < shortest_heartbeat)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a heartbeat of {} ms (TRIREME_HEARTBEAT): {} ms at least",
                                options_.heartbeat.count(), shortest_heartbeat.count()));
    const auto deadline = Engine::after(options_.timeout);
    Connections connections =
        connect_all(*store_, rank_, size_, options_, engine_.doorbell(), recorder_.address(),
                    launcher_ ? rank_for_launcher() : -1, deadline,
                    local_address_towards(host_.empty() ? "127.0.0.1" : host_));
    launched_as_ = std::move(connections.launched_as);
    inbox_ = std::move(connections.inbox);
    recorder_.set_token(connections.token);
    lookout_.emplace(std::move(connections.boards), connections.token);
    dump_.emplace(recorder_.address(), rank_, connections.token, options_.dump);
    {
        const Engine::Turn turn(engine_);
        for (int peer = 0; peer < size_; ++peer) {
            Connection& connection = connections.peers[static_cast<std::size_t>(peer)];
            links_.push_back(
                std::make_unique<Link>(engine_, *this, peer, std::move(connection.wire),
                                       std::move(connection.memory), &recorder_.traffic(peer)));
        }
        const auto here = std::ranges::count_if(
            links_, [](const auto& link) { return link->transport() != "tcp"; });
        engine_.set_crowded(here > std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
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
    start_bulletin();
    observation_ = Observation::open(options_, recorder_.shown(), *store_, rank_, size_);
    // Last: what throws before has no world to speak for.
    last_words::enrol(*this);
}

WorldState::~WorldState() { shut_down(); }

void WorldState::shut_down() noexcept {
    if (std::exchange(shut_down_, true)) return;
    last_words::withdraw(*this);
    if (engine_.after_fork()) {
        // The connections are the parent's: a child that ends must not hang up for it.
        [[maybe_unused]] const Observation* const left = observation_.release();
        for (auto& link : links_) {
            [[maybe_unused]] const Link* const kept = link.release();
        }
        // The thread did not come along.
        [[maybe_unused]] const Bulletin* const kept = bulletin_.release();
        return;
    }
    bulletin_.reset();
    bool all_come = true;
    try {
        const std::optional<Error> reason = reason_to_leave();
        all_come = !reason;
        if (std::uncaught_exceptions() <= exceptions_at_start_) await_mapping();
        // What is still under way would wait for ranks that wait for this one.
        if (std::uncaught_exceptions() > exceptions_at_start_) {
            const Engine::Turn turn(engine_);
            fail_all(Error(ErrorCode::peer_lost,
                           fmt::format("rank {} has left the world: {}", rank_, reason->what()),
                           reason->ranks()),
                     true);
        }
        engine_.drain();
        {
            const Engine::Turn turn(engine_);
            const Error error(ErrorCode::aborted,
                              fmt::format("rank {} has destroyed its World", rank_));
            fail_all(error, false);
            for (const auto& link : links_) link->leave(Engine::Clock::now() + parting, reason);
        }
        engine_.stop();
        if (observation_) observation_->close(*store_, all_come);
        if (server_) store_->wait(std::vector<std::string>{"all-started"}, last_start);
    } catch (const std::exception&) {
        // Leaving cannot fail: the peers notice a rank that is gone in any case.
    }
    dump_.reset();
    const Engine::Turn turn(engine_);
    engine_.set_sleep_flag(nullptr);
    engine_.set_watcher(nullptr);
    unsettled_.clear();
    links_.clear();
    inbox_.reset();
    store_.reset();
    server_.reset();
}

// What a peer is to hear that waits for this rank, and which ranks to blame: the first that went
// wrong here is the root of what goes wrong there.
std::optional<Error> WorldState::reason_to_leave() {
    const Engine::Turn turn(engine_);
    const bool thrown = std::uncaught_exceptions() > exceptions_at_start_;
    if (!first_failure_)
        return thrown ? std::optional(Error(ErrorCode::peer_lost, "an exception ended it", {rank_}))
                      : std::nullopt;
    return Error(
        ErrorCode::peer_lost,
        fmt::format("{} after {}", thrown ? "an exception ended it," : "its World was destroyed,",
                    first_failure_->what()),
        first_failure_->ranks());
}

// Failing a group changes nothing here, but be safe.
void WorldState::fail_all(const Error& error, bool tell) {
    const auto groups = groups_;
    for (const auto& [stream, group] : groups) group->fail(error, tell);
    engine_.ready().run();
}

void WorldState::refuse_after_fork(const char* call) const {
    if (engine_.after_fork())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{} after fork, in a child of the process that made the World; make "
                        "a World of its own in the child",
                        call));
}

void WorldState::abort(const std::string& reason) {
    refuse_after_fork("World::abort");
    const Engine::Turn turn(engine_);
    aborted_ = Error(ErrorCode::aborted,
                     fmt::format("the world was aborted by rank {}: {}", rank_, reason), {rank_});
    fail_all(*aborted_, true);
}

std::optional<Error> WorldState::obstacle_to(int rank) {
    const Engine::Turn turn(engine_);
    if (aborted_) return aborted_;
    engine_.look_around();
    const Link& link = this->link(rank);
    return link.gone() ? std::optional(link.farewell()) : std::nullopt;
}

void WorldState::speak_last_words(const std::string& thrown) noexcept {
    if (engine_.after_fork()) return;
    try {
        // Another thread gives it back soon, unless it is this thread that has it.
        const auto until = Engine::Clock::now() + last_breath;
        for (;;) {
            const Engine::Turn turn(engine_, std::try_to_lock);
            if (!turn.owned()) {
                if (Engine::Clock::now() >= until) return;
                std::this_thread::yield();
                continue;
            }
            const Error error(ErrorCode::peer_lost,
                              fmt::format("rank {} died of an exception: {}", rank_, thrown),
                              {rank_});
            for (const auto& [stream, group] : groups_) group->fail(error, true);
            for (const auto& link : links_) link->leave(until);
            return;
        }
    } catch (const std::exception&) {  // it dies in any case
    }
}

void WorldState::look(std::chrono::steady_clock::time_point now) {
    for (const auto& link : links_) link->check_heartbeat(options_.heartbeat);
    std::vector<board::Wait> waits;
    for (const auto& [stream, group] : groups_) group->look(now, waits);
    if (!waits.empty() || shows_waits_) recorder_.show_waits(waits, now);
    shows_waits_ = !waits.empty();
    if (!shows_waits_) return;
    if (bulletin_) {
        std::vector<int> ranks = lookout_->take_wanted();
        for (const board::Wait& wait : waits) ranks.push_back(wait.rank);
        bulletin_->want(ranks);
    }
    look_for_circle();
}

void WorldState::enter(GroupState& group) {
    groups_.emplace(group.stream(), &group);
    if (observation_) observation_->show_group(group.stream(), group.name(), group.ranks());
    if (const auto early = early_failures_.find(group.stream()); early != early_failures_.end()) {
        group.fail(early->second, false);
        early_failures_.erase(early);
    }
}

// Peers that make a group of this rank's map its memory out of this process: what this rank has
// brought would be lost to those that come later.
void WorldState::await_mapping() {
    const auto until = Engine::Clock::now() + last_mapping;
    const auto settled = [&] {
        const Engine::Turn turn(engine_);
        std::erase_if(unsettled_, [](const auto& one) { return one->is_settled(); });
        engine_.look_around();
        return unsettled_.empty() &&
               std::ranges::all_of(groups_, [](const auto& of) { return of.second->is_settled(); });
    };
    while (!settled() && Engine::Clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void WorldState::keep_until_mapped(std::unique_ptr<Commons> commons) {
    std::erase_if(unsettled_, [](const auto& one) { return one->is_settled(); });
    if (!shut_down_ && !commons->is_settled()) unsettled_.push_back(std::move(commons));
}

void WorldState::leave(GroupState& group) noexcept {
    groups_.erase(group.stream());
    retired_.insert(group.stream());
    recorder_.leave_group(group.stream());
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

void WorldState::said_goodbye(int peer, const Error& error) {
    const auto groups = groups_;
    for (const auto& [stream, group] : groups) group->member_left(peer, error);
}

void WorldState::link_lost(int peer, const Error& error) {
    const auto groups = groups_;
    for (const auto& [stream, group] : groups) {
        const auto ranks = group->ranks();
        if (std::find(ranks.begin(), ranks.end(), peer) != ranks.end())
            group->fail_under_way(error);
    }
}

// Asked under the mutex: whoever waits for that rank waits in vain, and everybody in this world
// else loses half a second at most, once, where the launcher does not know.
std::string WorldState::fate(int peer) {
    const auto at = static_cast<std::size_t>(peer);
    if (!launcher_ || at >= launched_as_.size() || launched_as_[at] < 0) return {};
    try {
        return launcher_->get(launcher_exit_key(launched_as_[at]), obituary);
    } catch (const Error&) {
        return {};
    }
}

bool WorldState::is_gone(int rank) {
    const Engine::Turn turn(engine_);
    engine_.look_around();
    return link(rank).gone();
}

Rendezvous WorldState::meeting(std::shared_ptr<Store> store, int rank, int size) const {
    return {.store = std::move(store),
            .rank = rank,
            .size = size,
            .server = nullptr,
            .host = host_,
            .launcher = launcher_,
            .outlives_ranks = store_outlives_ranks_};
}

std::shared_ptr<WorldState> WorldState::shrink(Timeout timeout) {
    if (!store_outlives_ranks_)
        throw Error(ErrorCode::unsupported,
                    fmt::format("shrink: rank 0 holds the store ({}), and would take it along; "
                                "start the ranks with `trireme run`, or meet in a file or in a "
                                "store outside of them (World::create)",
                                store_->describe()));
    refuse_after_fork("World::shrink");
    const std::lock_guard lock(shrinking_);
    if (observation_) observation_->stop_serving();  // the new world needs the port of its metrics
    if (timeout <= Timeout{0}) timeout = options_.timeout;
    if (excluded_) throw Error(*excluded_);
    try {
        return Shrinking(*this, shrink_epoch_, timeout).run();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::aborted) excluded_ = error;
        throw;
    }
}

void WorldState::start_bulletin() {
    // Ranks of one host may use TCP, too; then the thread finds nobody, and ends.
    const bool alone =
        std::ranges::all_of(links_, [](const auto& link) { return link->transport() != "tcp"; });
    if (alone) return;
    bulletin_ = std::make_unique<Bulletin>(
        store_, recorder_.shown(),
        Bulletin::World{.remote =
                            [this] {
                                const Engine::Turn turn(engine_);
                                return lookout_->find_remote(size_);
                            },
                        .deliver =
                            [this](int rank, const std::string& excerpt) {
                                const Engine::Turn turn(engine_);
                                lookout_->receive(rank, excerpt);
                            }});
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
