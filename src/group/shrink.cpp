#include "group/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <stop_token>
#include <thread>

#include "group/bootstrap.h"
#include "group/world_state.h"
#include "store/rendezvous.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds between_looks_at_store{10};
constexpr std::chrono::milliseconds slow{200};  // there may be many ranks
constexpr Timeout no_time{1'000};               // for a key that exists

constexpr int most_tries = 3;
// All that are to join live, or did a moment ago.
constexpr Timeout least_for_joining{10'000};

const std::string has_failed = "failed";
const std::string has_joined = "joined";

std::vector<int> ranks_in(const std::string& list) {
    std::vector<int> ranks;
    std::istringstream in(list);
    for (int rank = 0; in >> rank;) ranks.push_back(rank);
    return ranks;
}

}  // namespace

Shrinking::Shrinking(WorldState& world, int& epoch, Timeout patience)
    : world_(world),
      store_(world.store()),
      epoch_(epoch),
      patience_(patience),
      members_(static_cast<std::size_t>(world.size())) {
    std::iota(members_.begin(), members_.end(), 0);
}

std::string Shrinking::key(const std::string& what) const {
    return fmt::format("shrink/{}/{}", epoch_, what);
}

bool Shrinking::exists(const std::string& key) const { return store_.check({&key, 1}); }

std::shared_ptr<WorldState> Shrinking::run() {
    for (int tries = 1;; ++tries) {
        ++epoch_;
        deadline_ = Engine::after(patience_);
        const std::vector<int> list = decide();
        if (std::ranges::find(list, world_.rank()) == list.end())
            throw Error(ErrorCode::aborted,
                        fmt::format("shrink: rank {} is excluded: ranks {} have agreed to go on "
                                    "without it, as it came too late or they took it for dead",
                                    world_.rank(), fmt::join(list, ", ")),
                        {world_.rank()});
        if (list != members_) tries = 1;
        members_ = list;
        deadline_ = Engine::after(std::max(patience_, least_for_joining));
        if (auto joined = join()) return joined;
        // Nobody died, and they cannot meet.
        if (tries == most_tries)
            throw Error(ErrorCode::rendezvous,
                        fmt::format("shrink: rank {} cannot join ranks {}: {}", world_.rank(),
                                    fmt::join(list, ", "), problem_),
                        members_);
    }
}

// The list of those that go on.
std::vector<int> Shrinking::decide() {
    store_.set(key(fmt::format("here/{}", world_.rank())), "1");
    const std::string decided = key("decided");
    std::set<int> come;
    for (auto pause = between_looks_at_store; !exists(decided); pause = std::min(pause * 2, slow)) {
        std::vector<int> here;
        bool complete = true;
        for (const int rank : members_) {
            const bool gone = world_.is_gone(rank);
            if (!gone && (come.contains(rank) || exists(key(fmt::format("here/{}", rank))))) {
                come.insert(rank);
                here.push_back(rank);
            } else {
                complete = complete && gone;
            }
        }
        if (complete || Clock::now() >= deadline_)
            return ranks_in(
                store_.compare_set(decided, "", fmt::format("{}", fmt::join(here, " "))));
        std::this_thread::sleep_for(pause);
    }
    return ranks_in(store_.get(decided, no_time));
}

// A member that was seen to go; -1: none.
int Shrinking::first_gone() const {
    const auto gone =
        std::ranges::find_if(members_, [&](int rank) { return world_.is_gone(rank); });
    return gone != members_.end() ? *gone : -1;
}

// The new world; null where a member was gone before all had joined.
std::shared_ptr<WorldState> Shrinking::join() {
    const std::shared_ptr<Store> part = prefix_store(key("world"), world_.shared_store());
    const auto own = std::ranges::find(members_, world_.rank());

    // Whoever joins waits for the others: tell it when one of them will not come.
    std::jthread lookout([&](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any ended;
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, stop, between_looks_at_store, [] { return false; })) {
            if (stop.stop_requested()) return;
            const int gone = first_gone();
            const bool late = Clock::now() >= deadline_;
            if (gone < 0 && !late) continue;
            try {
                fail_meeting(*part, static_cast<int>(own - members_.begin()),
                             gone < 0 ? "the time for shrink() has passed"
                                      : fmt::format("rank {} of the world before died "
                                                    "before all had joined",
                                                    gone));
            } catch (const std::exception&) {  // without the store nobody joins
            }
            return;
        }
    });

    std::shared_ptr<WorldState> joined;
    try {
        joined = std::make_shared<WorldState>(
            world_.meeting(part, static_cast<int>(own - members_.begin()),
                           static_cast<int>(members_.size())),
            world_.options());
        if (outcome() == has_joined) return joined;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::store) throw;
        static_cast<void>(store_.compare_set(key("outcome"), "", has_failed));
        problem_ = error.what();
        // What fails for a reason of this rank alone fails again.
        if (error.code() != ErrorCode::rendezvous && error.code() != ErrorCode::timeout) throw;
    }
    if (joined) joined->shut_down();
    return nullptr;
}

std::string Shrinking::outcome() {
    const std::string decision = key("outcome");
    if (store_.add(key("joined"), 1) == static_cast<std::int64_t>(members_.size()))
        return store_.compare_set(decision, "", has_joined);
    while (!exists(decision)) {
        if (first_gone() >= 0 || Clock::now() >= deadline_)
            return store_.compare_set(decision, "", has_failed);
        std::this_thread::sleep_for(between_looks_at_store);
    }
    return store_.get(decision, no_time);
}

}  // namespace trireme
