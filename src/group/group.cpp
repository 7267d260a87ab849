#include "trireme/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/op_info.h"
#include "core/op_record.h"
#include "group/coalescing.h"
#include "group/group_state.h"
#include "group/take_operands.h"
#include "group/world_state.h"
#include "trireme/error.h"

namespace trireme {

namespace {

GroupState& member(const std::shared_ptr<GroupState>& state) {
    if (!state)
        throw Error(ErrorCode::invalid_argument,
                    "this process is not a member of the group: check `is_member()` first");
    return *state;
}

const std::string no_name;

}  // namespace

Group::Group(std::shared_ptr<GroupState> state, Limits limits) noexcept
    : state_(std::move(state)), limits_(limits) {}

bool Group::is_coalescing() const noexcept { return state_ && state_->scope() != nullptr; }
bool Group::is_member() const noexcept { return state_ != nullptr; }
int Group::rank() const noexcept { return state_ ? state_->rank() : -1; }
int Group::size() const noexcept { return state_ ? state_->size() : 0; }
const std::string& Group::name() const noexcept { return state_ ? state_->name() : no_name; }

std::span<const int> Group::ranks() const noexcept {
    return state_ ? state_->ranks() : std::span<const int>{};
}

void Group::abort(const std::string& reason) const { member(state_).abort(reason); }

int Group::rank_of(int world_rank) const noexcept {
    const auto all = ranks();
    const auto found = std::ranges::find(all, world_rank);
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

int Group::world_rank_of(int group_rank) const {
    if (group_rank < 0 || group_rank >= size())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("rank {} is not in group \"{}\" of {} ranks", group_rank, name(), size()));
    return ranks()[static_cast<std::size_t>(group_rank)];
}

Group Group::subgroup(const std::vector<int>& group_ranks, GroupOptions options) const {
    GroupState& own = member(state_);
    std::vector<int> chosen;
    for (const int rank : group_ranks) chosen.push_back(world_rank_of(rank));
    return Group(own.world().make_group(chosen, std::move(options)));
}

Group Group::split(int color, int key, GroupOptions options, Site site) const {
    detail::refuse_in_coalesce(*this, "split");
    GroupState& own = member(state_);
    std::vector<int> colors(static_cast<std::size_t>(size()));
    std::vector<int> keys(colors.size());
    all_gather(color, colors, site);
    all_gather(key, keys, site);
    std::vector<int> chosen;
    for (int rank = 0; rank < size(); ++rank)
        if (colors[static_cast<std::size_t>(rank)] == color) chosen.push_back(rank);
    if (color < 0) return {};
    std::ranges::sort(chosen, std::less<>(), [&](int rank) {
        return std::pair(keys[static_cast<std::size_t>(rank)], rank);
    });
    for (int& rank : chosen) rank = world_rank_of(rank);
    return Group(own.world().make_group(chosen, std::move(options)));
}

Group Group::blocks_of(int block, GroupOptions options) const {
    if (block < 1 || size() % block != 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("group \"{}\" of {} ranks cannot be cut into blocks of {}", name(),
                                size(), block));
    std::vector<int> chosen(static_cast<std::size_t>(block));
    std::iota(chosen.begin(), chosen.end(), rank() / block * block);
    return subgroup(chosen, std::move(options));
}

const std::shared_ptr<GroupState>& Group::state() const {
    static_cast<void>(member(state_));
    return state_;
}

void Group::refuse_argument(const Op& op, const Error& error) const {
    static_cast<void>(member(state_));
    throw Error(error.code(),
                fmt::format("{} on group \"{}\" ({}): {}", info(op.kind).name, name(),
                            OpRecord::make(op, 0).site(), error.what()),
                error.ranks());
}

void detail::refuse_in_coalesce(const Group& group, const char* call) {
    if (group.is_coalescing())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} on group \"{}\" inside coalesce: it is several calls of which "
                                "each needs what the one before has brought; call it outside",
                                call, group.name()));
}

int Group::run_on(Op& op, Operand* in, bool in_lasts, Operand* out) const {
    GroupState& own = member(state_);
    if (Coalescing* scope = own.scope()) {
        const auto taken = [](Operand* operand) {
            return operand != nullptr ? std::optional(std::move(*operand)) : std::nullopt;
        };
        scope->add(op, taken(in), in_lasts, taken(out));
        return -1;
    }
    take_operands(op, in, out);
    const int source = own.run(op, limits_);
    if (out != nullptr) out->finish();
    return source;
}

int Group::run(const Op& op) const { return member(state_).run(op, limits_); }

Prepared Group::prepare(const Op& op, std::optional<Operand> in, std::optional<Operand> out) const {
    return Prepared(member(state_).prepare(op, std::move(in), std::move(out), limits_));
}

Work Group::start(const Op& op, std::optional<Operand> in, std::optional<Operand> out) const {
    return member(state_).start(op, std::move(in), std::move(out), limits_);
}

}  // namespace trireme
