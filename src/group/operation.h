#pragma once

#include <memory>
#include <optional>

#include "algorithm/call.h"
#include "core/execution.h"
#include "core/op_record.h"
#include "group/group_state.h"

namespace trireme {

/// An operation of a group under way.
class Operation final : public Execution, public MessageOwner {
public:
    /// A blocking one: what `op` points to outlasts it.
    Operation(GroupState& group, const Op& op, Engine::Clock::time_point deadline);
    /// A started one: keeps its operands, and the group.
    Operation(std::shared_ptr<GroupState> group, const Op& op, std::optional<Operand> in,
              std::optional<Operand> out, Engine::Clock::time_point deadline);

    void begin() override;
    void expire() override;
    [[nodiscard]] bool borrows() const noexcept override {
        return (in_ && in_->borrowed) || (out_ && out_->borrowed);
    }
    [[nodiscard]] Error mismatch(int peer, const Envelope& theirs) const override;

    [[nodiscard]] const Op& op() const noexcept { return op_; }
    [[nodiscard]] const OpRecord& record() const noexcept { return record_; }

private:
    void wind_up(std::exception_ptr& error) noexcept override;

    std::shared_ptr<GroupState> kept_group_;
    GroupState& group_;
    Op op_;
    std::optional<Operand> in_;
    std::optional<Operand> out_;
    OpRecord record_;
    Engine::Clock::time_point started_{};
    std::optional<Call> call_;
    Task task_;
};

}  // namespace trireme
