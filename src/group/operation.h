#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "algorithm/call.h"
#include "core/execution.h"
#include "core/op_record.h"
#include "group/group_state.h"
#include "group/shadow.h"

namespace trireme {

/// An operation of a group under way.
class Operation final : public Execution,
                        public MessageOwner,
                        public std::enable_shared_from_this<Operation> {
public:
    /// A blocking one: what `op` points to outlasts it.
    Operation(GroupState& group, const Op& op, Engine::Clock::time_point now,
              Engine::Clock::time_point deadline, const Limits& limits);
    /// A started one: keeps its operands, and the group.
    Operation(std::shared_ptr<GroupState> group, const Op& op, std::optional<Operand> in,
              std::optional<Operand> out, Engine::Clock::time_point now,
              Engine::Clock::time_point deadline, const Limits& limits);

    /// Goes on with one that the short way has begun.
    void take_over(const Opening& opening);
    void begin() override;
    /// Under the engine's mutex: runs the algorithm. The group calls it, at once or when its turn
    /// has come; `peer` is the source of a message that may come from anywhere.
    void launch(int peer);
    void restart() override;
    void expire() override;
    void abandon() override;
    [[nodiscard]] bool borrows() const noexcept override {
        return (in_ && in_->borrowed) || (out_ && out_->borrowed);
    }
    [[nodiscard]] Error mismatch(int peer, const Envelope& theirs,
                                 std::size_t expected) const override;

    [[nodiscard]] int source() const noexcept override {
        return op_.kind == OpKind::recv ? op_.peer : -1;
    }
    [[nodiscard]] const char* algorithm() const noexcept override { return record_.algorithm; }

    /// Shows it on the board of this rank: that it has begun, under the number it has got.
    void show();
    void show_end(bool well) noexcept;
    void set_awaited(bool awaited) noexcept override;
    void will_call_back() noexcept override;
    /// Whether a thread waits in it.
    [[nodiscard]] bool is_blocking() const noexcept { return kept_group_ == nullptr || awaited_; }
    [[nodiscard]] std::uint64_t shown_number() const noexcept { return shown_; }
    [[nodiscard]] Engine::Clock::time_point started() const noexcept { return started_; }
    /// Of this call; 0: the group's.
    [[nodiscard]] Timeout patience() const noexcept { return limits_.patience; }
    /// True once: that it waits too long is said once only.
    [[nodiscard]] bool lose_patience() noexcept { return !std::exchange(complained_, true); }

    [[nodiscard]] const Op& op() const noexcept { return op_; }
    [[nodiscard]] const OpRecord& record() const noexcept { return record_; }
    [[nodiscard]] OpRecord& record() noexcept { return record_; }

private:
    void wind_up(std::exception_ptr& error) noexcept override;

    std::shared_ptr<GroupState> kept_group_;
    GroupState& group_;
    Limits limits_;  // as the call gave them; of a prepared one, of each start
    Op op_;
    int asked_peer_;  // `op_.peer`, before a message from any source came
    std::optional<Operand> in_;
    std::optional<Operand> out_;
    std::optional<Shadow> shadow_;  // where it runs on copies
    OpRecord record_;
    const Algorithm* algorithm_ = nullptr;
    Engine::Clock::time_point started_;
    std::uint64_t shown_ = 0;
    bool opened_ = false;  // by the short way: numbered, and on the board
    bool complained_ = false;
    bool awaited_ = false;
    std::shared_ptr<Operation*> submitted_;  // to a backend; null inside once it has ended
    std::optional<Call> call_;
    Task task_;
};

}  // namespace trireme
