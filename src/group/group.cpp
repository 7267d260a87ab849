#include "trireme/group.h"

#include <utility>

#include "group/group_state.h"
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

Group::Group(std::shared_ptr<GroupState> state, Timeout timeout) noexcept
    : state_(std::move(state)), timeout_(timeout) {}

bool Group::is_member() const noexcept { return state_ != nullptr; }
int Group::rank() const noexcept { return state_ ? state_->rank() : -1; }
int Group::size() const noexcept { return state_ ? state_->size() : 0; }
const std::string& Group::name() const noexcept { return state_ ? state_->name() : no_name; }

std::span<const int> Group::ranks() const noexcept {
    return state_ ? state_->ranks() : std::span<const int>{};
}

void Group::abort(const std::string& reason) const { member(state_).abort(reason); }

void Group::run(const Op& op) const { member(state_).run(op, timeout_); }

Work Group::start(const Op& op, std::optional<Operand> in, std::optional<Operand> out) const {
    return member(state_).start(op, std::move(in), std::move(out), timeout_);
}

}  // namespace trireme
