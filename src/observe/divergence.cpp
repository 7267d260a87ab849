#include "observe/divergence.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/op_info.h"

namespace trireme {

namespace {

// In a job that runs everybody waits for a moment now and then.
constexpr std::chrono::milliseconds worth_saying{100};

// A member of a group, and where it stands there.
struct MemberView {
    const RankReport* report;
    std::optional<std::uint64_t> reached;
};

using Calls = std::map<int, const Sighting*>;  // by world rank

struct GroupView {
    std::string name;
    int size = 0;
    std::vector<MemberView> members;
    std::map<std::uint64_t, Calls> calls;  // those that are recorded, by number
};

bool is_collective_call(const Sighting& one) { return !info(one.kind).point_to_point; }

// By stream. A group that has ended on all ranks is nobody's business any more; one that has ended
// on some is there with what these recorded.
std::map<std::uint32_t, GroupView> groups_of(const std::vector<RankReport>& world) {
    std::map<std::uint32_t, GroupView> groups;
    for (const RankReport& report : world) {
        for (const RankReport::Membership& one : report.groups) {
            GroupView& group = groups[one.stream];
            group.name = one.group;
            group.size = one.size;
            group.members.push_back({&report, one.reached});
        }
    }
    for (const RankReport& report : world) {
        for (const Sighting& one : report.operations) {  // the newest first
            const auto group = groups.find(one.stream);
            if (group == groups.end() || !is_collective_call(one)) continue;
            group->second.calls[one.sequence][report.rank] = &one;
            auto& members = group->second.members;
            if (std::ranges::find(members, &report, &MemberView::report) == members.end())
                members.push_back({&report, one.sequence});
        }
    }
    return groups;
}

bool differ(const Calls& calls) {
    return std::ranges::any_of(calls, [&](const auto& call) {
        return call.second->fingerprint != calls.begin()->second->fingerprint;
    });
}

bool is_missing(const MemberView& member, std::uint64_t sequence) {
    return member.reached && *member.reached < sequence;
}

std::optional<std::uint64_t> find_parting(const GroupView& group, bool& mismatch) {
    std::uint64_t last = 0;
    std::optional<std::uint64_t> least;
    for (const MemberView& member : group.members) {
        if (!member.reached) continue;
        last = std::max(last, *member.reached);
        least = std::min(least.value_or(*member.reached), *member.reached);
    }
    for (const auto& [sequence, calls] : group.calls) {
        if (least && sequence > *least) break;
        if (!differ(calls)) continue;
        mismatch = true;
        return sequence;
    }
    if (!least || last == *least) return std::nullopt;
    // Those that have come may differ as well.
    const auto calls = group.calls.find(*least + 1);
    mismatch = calls != group.calls.end() && differ(calls->second);
    return *least + 1;
}

Divergence::Member side_of(const MemberView& member, std::uint64_t sequence, const Calls& calls) {
    Divergence::Member side{
        .rank = member.report->rank, .call = std::nullopt, .doing = describe_doing(*member.report)};
    if (is_missing(member, sequence)) return side;
    const auto call = calls.find(side.rank);
    side.recorded = call != calls.end();
    side.call = side.recorded ? call->second->call : "";
    return side;
}

// One rank is looked at after the other, and meanwhile they go on: what counts is how long the
// first had been there when one was looked at that had not come.
std::chrono::nanoseconds age_of(const GroupView& group, std::uint64_t sequence,
                                const Calls& calls) {
    std::optional<RankReport::Clock::time_point> begun;
    for (const auto& [rank, call] : calls)
        begun = std::min(begun.value_or(call->begun), call->begun);
    std::chrono::nanoseconds age{0};
    for (const MemberView& member : group.members)
        if (begun && is_missing(member, sequence))
            age = std::max<std::chrono::nanoseconds>(age, member.report->taken - *begun);
    return age;
}

}  // namespace

std::vector<Divergence> find_divergences(const std::vector<RankReport>& world) {
    std::vector<Divergence> found;
    for (const auto& [stream, group] : groups_of(world)) {
        bool mismatch = false;
        const std::optional<std::uint64_t> sequence = find_parting(group, mismatch);
        if (!sequence) continue;
        Divergence divergence{
            .group = group.name,
            .stream = stream,
            .sequence = *sequence,
            .mismatch = mismatch,
            .unseen = std::max(0, group.size - static_cast<int>(group.members.size()))};
        static const Calls none;
        const auto recorded = group.calls.find(*sequence);
        const auto& calls = recorded != group.calls.end() ? recorded->second : none;
        for (const MemberView& member : group.members)
            divergence.members.push_back(side_of(member, *sequence, calls));
        divergence.age = age_of(group, *sequence, calls);
        std::ranges::sort(divergence.members, {}, &Divergence::Member::rank);
        found.push_back(std::move(divergence));
    }
    // What began first is the cause of the rest, more often than not.
    std::ranges::sort(found, {}, [](const Divergence& one) {
        return std::tuple(!one.mismatch, -one.age, one.stream);
    });
    return found;
}

std::map<int, std::vector<int>> find_awaited(const std::vector<RankReport>& world) {
    std::map<int, std::set<int>> awaited;
    const auto groups = groups_of(world);
    for (const RankReport& report : world) {
        const Sighting* const one = main_one(report.operations);
        if (report.state == ProcessState::ended || one == nullptr) continue;
        if (!is_collective_call(*one)) {
            for (const RankReport::Wait& wait : report.waits)
                if (wait.number == one->number && !wait.any && wait.rank != report.rank)
                    awaited[wait.rank].insert(report.rank);
            continue;
        }
        const auto group = groups.find(one->stream);
        if (group == groups.end()) continue;
        for (const MemberView& member : group->second.members)
            if (is_missing(member, one->sequence) &&
                member.report->taken - one->begun >= worth_saying)
                awaited[member.report->rank].insert(report.rank);
    }
    std::map<int, std::vector<int>> result;
    for (const auto& [rank, by] : awaited) result[rank].assign(by.begin(), by.end());
    return result;
}

std::vector<std::vector<RankReport>> split_worlds(std::vector<RankReport> reports) {
    using Key = std::tuple<std::string, std::string, int>;
    std::map<Key, std::map<int, RankReport>> worlds;
    for (RankReport& report : reports) {
        auto& world = worlds[Key(report.job, report.world, report.size)];
        const auto known = world.find(report.rank);
        if (known == world.end() || known->second.taken < report.taken)
            world.insert_or_assign(report.rank, std::move(report));
    }
    std::vector<std::vector<RankReport>> result;
    for (auto& [key, world] : worlds) {
        auto& ranks = result.emplace_back();
        for (auto& [rank, report] : world) ranks.push_back(std::move(report));
    }
    return result;
}

}  // namespace trireme
