#pragma once

#include <memory>

#include "trireme/types.h"

namespace trireme {

class Coalescing;
class Group;
class GroupState;

/// While it lives, blocking calls of this thread on its group are collected instead of run: see
/// `Group::coalesce`, which makes it.
class CoalescingScope {
public:
    CoalescingScope(std::shared_ptr<GroupState> group, const Limits& limits);
    CoalescingScope(const CoalescingScope&) = delete;
    CoalescingScope& operator=(const CoalescingScope&) = delete;
    ~CoalescingScope();

    /// Runs what was collected as one operation.
    void run();

private:
    void close() noexcept;

    std::shared_ptr<GroupState> group_;
    Limits limits_;
    bool open_ = true;
    std::unique_ptr<Coalescing> calls_;
};

namespace detail {
/// Throws `invalid_argument` inside `coalesce` on this group.
void refuse_in_coalesce(const Group& group, const char* call);
}  // namespace detail

}  // namespace trireme
