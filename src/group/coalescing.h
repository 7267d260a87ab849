#pragma once

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "trireme/op.h"
#include "trireme/operand.h"

namespace trireme {

class GroupState;

/// The calls of a `CoalescingScope`.
class Coalescing {
public:
    /// Whether calls of the present thread are to be collected.
    [[nodiscard]] bool is_mine() const noexcept { return std::this_thread::get_id() == thread_; }
    /// `in_lasts`: else a copy of it is kept.
    void add(const Op& op, std::optional<Operand> in, bool in_lasts, std::optional<Operand> out);
    void run(GroupState& group, const Limits& limits);

private:
    struct Entry {
        Op op;
        std::optional<Operand> in;
        std::optional<Operand> out;
    };

    void check_alike(const GroupState& group) const;
    void check_apart(const GroupState& group) const;
    [[nodiscard]] std::uint32_t known_by() const noexcept;
    void run_messages(GroupState& group, const Limits& limits);
    void run_collective(GroupState& group, const Limits& limits);

    const std::thread::id thread_ = std::this_thread::get_id();
    std::vector<Entry> calls_;
};

}  // namespace trireme
