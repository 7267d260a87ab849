#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "group/group_state.h"
#include "group/world_state.h"
#include "observe/circle.h"
#include "observe/warn.h"
#include "trireme/error.h"

namespace trireme {

namespace {

std::string describe_circle(const std::map<int, Stand>& stands, const std::vector<int>& circle) {
    std::string text;
    for (const int rank : circle) {
        const Stand& stand = stands.at(rank);
        text += fmt::format("{}rank {} is in {} on group \"{}\" and waits for {} {}",
                            text.empty() ? "" : "; ", rank, stand.call, stand.group,
                            stand.any                ? "any of ranks"
                            : stand.needs.size() > 1 ? "ranks"
                                                     : "rank",
                            fmt::join(stand.needs, ", "));
    }
    return text;
}

}  // namespace

// Whether this rank is one of a circle that wait for one another. Each of them finds it by itself,
// unless another one has been faster, and is gone: then it has left word. What is there at two
// looks in a row, each rank in the same call, is there for good, if no rank has another thread that
// may yet make the call that is missing.
void WorldState::look_for_circle() {
    std::map<int, Stand> stands;
    std::vector<int> open{rank_};
    while (!open.empty()) {
        const int rank = open.back();
        open.pop_back();
        if (stands.contains(rank)) continue;
        if (auto stand = lookout_->stand(rank)) {
            open.insert(open.end(), stand->needs.begin(), stand->needs.end());
            stands.emplace(rank, std::move(*stand));
        }
    }
    const auto own = stands.find(rank_);
    if (own == stands.end() || join_circle(own->second)) return;

    const std::vector<int> ranks = find_circle(stands, rank_);
    std::vector<board::Circle::Member> circle;
    bool certain = true;
    for (const int rank : ranks) {
        circle.push_back({.rank = rank, .number = stands.at(rank).number});
        certain = certain && stands.at(rank).certain;
    }
    if (circle != circle_) {
        circle_ = circle;
        circle_beats_.clear();
        for (const int rank : ranks) circle_beats_.push_back(stands.at(rank).beat);
        return;
    }
    if (ranks.empty() || ranks.front() != rank_ || !seen_again(stands, ranks)) return;

    const std::string text = describe_circle(stands, ranks);
    if (certain) return leave_circle(circle, "deadlock: " + text);
    if (std::exchange(suspected_, own->second.number) != own->second.number)
        warn(fmt::format("deadlock suspected, unless another thread makes a call: {}", text));
}

// Whether every rank of the circle has been seen in the same call after the circle was found. What
// a rank of another host shows may be older than that; not so the second excerpt since.
bool WorldState::seen_again(const std::map<int, Stand>& stands,
                            const std::vector<int>& circle) const {
    for (std::size_t i = 0; i < circle.size(); ++i) {
        const std::uint64_t beat = stands.at(circle[i]).beat;
        if (beat != 0 && beat < circle_beats_[i] + 2) return false;
    }
    return true;
}

// Whether one of those that this rank needs has found a circle with this rank's call.
bool WorldState::join_circle(const Stand& own) {
    for (const int rank : own.needs) {
        const auto circle = lookout_->circle_with(rank, {.rank = rank_, .number = own.number});
        if (!circle) continue;
        leave_circle(std::span(circle->members).first(circle->count), circle->text.data());
        return true;
    }
    return false;
}

void WorldState::leave_circle(std::span<const board::Circle::Member> circle,
                              std::string_view text) {
    // Before this rank's call ends.
    recorder_.show_circle(circle, text);
    if (bulletin_) bulletin_->hurry();
    std::vector<int> ranks;
    std::uint64_t own = 0;
    for (const board::Circle::Member& member : circle) {
        ranks.push_back(static_cast<int>(member.rank));
        if (member.rank == rank_) own = member.number;
    }
    const Error error(ErrorCode::deadlock, std::string(text), ranks);
    const auto groups = groups_;
    for (const auto& [stream, group] : groups)
        if (group->fail_in_circle(own, error)) return;
}

}  // namespace trireme
