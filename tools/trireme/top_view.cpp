#include "top_view.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "dump_print.h"
#include "observe/divergence.h"

namespace trireme::tool {
namespace {

using std::chrono::duration;

double seconds_between(RankReport::Clock::time_point from, RankReport::Clock::time_point to) {
    return std::max(0.0, duration<double>(to - from).count());
}

// Counters only grow; of a rank that was not there before nothing is known yet.
double rate(std::uint64_t before, std::uint64_t now, double seconds) {
    return now > before && seconds > 0 ? static_cast<double>(now - before) / seconds : 0;
}

void describe_present(const RankReport& report, TopRank& rank) {
    if (report.state == ProcessState::ended) {
        rank.what = "-";
    } else if (const Sighting* one = main_one(report.operations)) {
        rank.what = one->call;
        rank.group = one->group;
        rank.age = seconds_between(one->begun, report.taken);
    } else if (report.errand) {
        rank.what = report.errand->text;
        rank.age = seconds_between(report.errand->since, report.taken);
    } else if (report.operations.empty()) {
        rank.what = report.world.empty() ? "joining its world" : "user code, no call yet";
        rank.age = seconds_between(report.made, report.taken);
    } else {
        const Sighting& last = report.operations.front();
        rank.what = "user code, after " + last.call;
        rank.group = last.group;
        rank.age = seconds_between(last.ended, report.taken);
    }
}

using LinkRates = std::map<std::pair<int, int>, double>;

void add_traffic(const RankReport& before, const RankReport& now, TopRank& rank, LinkRates& links) {
    const double seconds = seconds_between(before.taken, now.taken);
    for (const RankReport::PeerTraffic& one : now.traffic) {
        if (one.peer == now.rank) {
            continue;
        }
        const auto known =
            std::ranges::find(before.traffic, one.peer, &RankReport::PeerTraffic::peer);
        const bool is_new = known == before.traffic.end();
        const double sent = rate(is_new ? 0 : known->sent, one.sent, seconds);
        const double received = rate(is_new ? 0 : known->received, one.received, seconds);
        rank.sent_per_second += sent;
        rank.received_per_second += received;
        // Both ends count; one of them may not be visible.
        double& out = links[{now.rank, one.peer}];
        double& in = links[{one.peer, now.rank}];
        out = std::max(out, sent);
        in = std::max(in, received);
    }
}

TopWorld compare_world(const std::vector<RankReport>& before, const std::vector<RankReport>& now) {
    TopWorld world{.job = now.front().job,
                   .world = now.front().world,
                   .title = name_world(now.front()),
                   .absent = absent_ranks(now)};
    const auto awaited = find_awaited(now);
    const auto waits = [&](int rank) {
        return std::ranges::any_of(awaited, [&](const auto& entry) {
            return std::ranges::count(entry.second, rank) != 0;
        });
    };
    LinkRates links;
    for (const RankReport& report : now) {
        TopRank rank{.rank = report.rank, .pid = report.pid, .state = report.state};
        describe_present(report, rank);
        if (const auto by = awaited.find(report.rank); by != awaited.end()) {
            rank.awaited_by = by->second;
            rank.straggler = !waits(report.rank);
        }
        const auto earlier = std::ranges::find_if(before, [&](const RankReport& one) {
            return one.pid == report.pid && one.rank == report.rank && one.made == report.made;
        });
        if (earlier != before.end()) {
            rank.operations_per_second =
                rate(earlier->begun, report.begun, seconds_between(earlier->taken, report.taken));
            add_traffic(*earlier, report, rank, links);
        }
        world.ranks.push_back(std::move(rank));
    }
    for (const auto& [ends, bytes] : links) {
        if (bytes > 0) {
            world.links.push_back(
                {.from = ends.first, .to = ends.second, .bytes_per_second = bytes});
        }
    }
    std::ranges::sort(world.links, {}, [](const TopLink& link) {
        return std::tuple(-link.bytes_per_second, link.from, link.to);
    });
    return world;
}

}  // namespace

std::vector<TopWorld> compare_looks(const std::vector<RankReport>& before,
                                    std::vector<RankReport> now) {
    std::vector<TopWorld> worlds;
    for (const auto& world : split_worlds(std::move(now))) {
        worlds.push_back(compare_world(before, world));
    }
    return worlds;
}

}  // namespace trireme::tool
