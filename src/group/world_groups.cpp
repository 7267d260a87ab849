#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "group/backend_runner.h"
#include "group/group_state.h"
#include "group/world_state.h"
#include "link/shm/commons.h"
#include "observe/warn.h"
#include "trireme/error.h"

// How a world makes groups.

namespace trireme {

namespace {

constexpr Timeout look_up{1'000};  // of what is there
constexpr Timeout slice{200};      // between two looks whether it can still come

std::string members_key(const std::vector<int>& ranks) {
    return fmt::format("group/{}", fmt::join(ranks, ","));
}

// What a rank that others wait for has made instead.
std::string last_made_key(int rank) { return fmt::format("made/{}", rank); }

// What this rank does while it makes a group, for its peers to see.
class Making {
public:
    Making(WorldState& world, const std::string& text) : world_(world) { show(text); }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;
    ~Making() { show(""); }

private:
    void show(const std::string& text) {
        const Engine::Turn turn(world_.engine());
        world_.recorder().show_errand(text, Engine::Clock::now());
    }
    WorldState& world_;
};

}  // namespace

// The lowest member takes a number for the group and leaves it for the others. It waits for nobody,
// and the others wait for a lower rank only, so no order of calls can make a circle of these.
// Where all share memory, it makes the group's commons, too, and leaves word where that is.
WorldState::Agreement WorldState::agree(const std::vector<int>& ranks, const GroupOptions& group,
                                        std::span<Link* const> links) {
    const std::string key = fmt::format("{}/{}", members_key(ranks), ++made_[ranks]);
    const auto size = static_cast<std::int64_t>(ranks.size());
    const std::string joined = key + "/joined";
    const int lowest = *std::min_element(ranks.begin(), ranks.end());
    const bool shared = group.backend.empty() && size > 1 &&
                        ranks.size() <= Commons::most_members && memory_reachable(ranks);
    const auto own = static_cast<int>(std::ranges::find(ranks, rank_) - ranks.begin());
    const auto owner = [&](std::uint32_t stream) {
        return Commons::Owner{engine_, links, own, stream, recorder_.shown().token};
    };
    Agreement agreed;
    if (rank_ == lowest) {
        agreed.stream = static_cast<std::uint32_t>(store_->add("streams", 1));
        if (shared) agreed.commons = std::make_unique<Commons>(owner(agreed.stream));
        if (size > 1) {
            // First: whoever waits for another group asks for this.
            store_->set(last_made_key(rank_),
                        fmt::format("\"{}\" of ranks {}", group.name, fmt::join(ranks, ",")));
            store_->set(key, fmt::format("{} {}", agreed.stream,
                                         shared ? agreed.commons->address().text() : "-"));
        }
    } else {
        const std::string text = fmt::format("making group \"{}\" of ranks {}, which needs rank {}",
                                             group.name, fmt::join(ranks, ","), lowest);
        const Making making(*this, text);
        const std::string told = await_key(
            key, lowest, text, group.patience > Timeout{0} ? group.patience : options_.patience);
        agreed.stream = static_cast<std::uint32_t>(std::stoul(told));
        if (shared) {
            const auto address =
                shm::DescriptorAddress::parse(std::string_view(told).substr(told.find(' ') + 1));
            agreed.commons = Commons::open(owner(agreed.stream), address);
            if (const auto obstacle = agreed.commons ? std::nullopt : obstacle_to(lowest))
                throw Error(obstacle->code(), fmt::format("{}: {}", text, obstacle->what()),
                            obstacle->ranks());
            if (!agreed.commons)
                throw Error(
                    ErrorCode::system,
                    fmt::format("{}: the memory of the group, which that rank shares as "
                                "descriptor {} of process {}, cannot be mapped here: {}",
                                text, address.descriptor, address.pid, std::strerror(errno)),
                    {lowest});
        }
    }
    if (size > 1 && store_->add(joined, 1) == size) {
        store_->delete_key(key);
        store_->delete_key(joined);
    }
    return agreed;
}

// The value that `maker` puts into the store. Complains as a call does that waits.
std::string WorldState::await_key(const std::string& key, int maker, const std::string& text,
                                  Timeout patience) {
    const auto start = Engine::Clock::now();
    const auto complaint = [&] {
        const std::string made = last_made_key(maker);
        const std::string other =
            store_->check({&made, 1})
                ? fmt::format("the last group that it made is {}", store_->get(made, look_up))
                : "it has made no group with others";
        const auto now = Engine::Clock::now();
        const Engine::Turn turn(engine_);
        return fmt::format("{}: rank {} waited {:.1f} s; rank {} {}; {}", text, rank_,
                           std::chrono::duration<double>(now - start).count(), maker,
                           lookout_->whereabouts(maker, 0, 0, now), other);
    };
    const auto deadline = Engine::after(options_.timeout, start);
    bool warned = false;
    for (;;) {
        const auto now = Engine::Clock::now();
        const auto left = std::chrono::ceil<Timeout>(deadline - now);
        try {
            return store_->get(key, std::clamp<Timeout>(left, Timeout{0}, slice));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::timeout) throw;
        }
        if (const auto obstacle = obstacle_to(maker))
            throw Error(obstacle->code(), fmt::format("{}: {}", text, obstacle->what()),
                        obstacle->ranks());
        if (Engine::Clock::now() >= deadline) throw Error(ErrorCode::timeout, complaint(), {maker});
        if (now - start >= patience && !std::exchange(warned, true)) warn(complaint());
    }
}

const std::string& WorldState::reach_of(int rank) {
    auto known = reach_.find(rank);
    if (known == reach_.end())
        known = reach_.emplace(rank, store_->get(fmt::format("reach/{}", rank), options_.timeout))
                    .first;
    return known->second;
}

bool WorldState::memory_reachable(const std::vector<int>& ranks) {
    return std::ranges::all_of(ranks, [&](int from) {
        return std::ranges::all_of(
            ranks, [&](int to) { return reach_of(from).at(static_cast<std::size_t>(to)) == '2'; });
    });
}

// The number of each rank's host: a rank shares that of the first rank on its host, or has a new
// one.
std::vector<int> WorldState::hosts_of(const std::vector<int>& ranks) {
    std::vector<int> hosts;
    int next = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto first = std::find_if(
            ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), [&](int before) {
                return reach_of(before).at(static_cast<std::size_t>(ranks[i])) != '0';
            });
        const auto at = static_cast<std::size_t>(first - ranks.begin());
        hosts.push_back(at < i ? hosts[at] : next++);
    }
    return hosts;
}

const BackendFactory& WorldState::factory(const std::string& backend) const {
    const auto found = options_.backends.find(backend);
    if (found != options_.backends.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [name, factory] : options_.backends) known.push_back(name);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there is no backend \"{}\"; WorldOptions::backends has [{}]", backend,
                            fmt::join(known, ", ")));
}

std::shared_ptr<GroupState> WorldState::make_group(const std::vector<int>& ranks,
                                                   GroupOptions options) {
    refuse_after_fork("World::group");
    std::vector<bool> seen(static_cast<std::size_t>(size_));
    for (const int rank : ranks) {
        if (rank < 0 || rank >= size_ || seen[static_cast<std::size_t>(rank)])
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("a group of ranks [{}]: {} is {}; the world has ranks 0 to {}",
                            fmt::join(ranks, ", "), rank,
                            rank < 0 || rank >= size_ ? "not a rank" : "there twice", size_ - 1));
        seen[static_cast<std::size_t>(rank)] = true;
    }
    if (ranks.empty()) throw Error(ErrorCode::invalid_argument, "a group needs at least one rank");
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    if (own == ranks.end()) return nullptr;
    if (!options.backend.empty()) static_cast<void>(factory(options.backend));

    const std::lock_guard lock(making_);
    if (options.name.empty()) options.name = fmt::format("[{}]", fmt::join(ranks, ","));
    std::vector<Link*> links;
    for (const int member : ranks) links.push_back(&link(member));
    Agreement agreed = agree(ranks, options, links);
    const int rank = static_cast<int>(own - ranks.begin());
    std::unique_ptr<BackendRunner> backend;
    if (!options.backend.empty()) {
        backend = std::make_unique<BackendRunner>(
            engine_, factory(options.backend)(
                         {rank, ranks, options.name,
                          prefix_store(fmt::format("backend/{}", agreed.stream), store_)}));
    }
    return std::make_shared<GroupState>(
        shared_from_this(),
        GroupPlan{.name = std::move(options.name),
                  .stream = agreed.stream,
                  .ranks = ranks,
                  .rank = rank,
                  .memory_reachable = memory_reachable(ranks),
                  .hosts = hosts_of(ranks),
                  .timeout = options.timeout,
                  .patience = options.patience,
                  .reproducible = options.reproducible.value_or(options_.reproducible),
                  .links = std::move(links),
                  .commons = std::move(agreed.commons),
                  .backend = std::move(backend)});
}

}  // namespace trireme
