#pragma once

#include <coroutine>
#include <cstddef>
#include <vector>

namespace trireme {

/// Coroutines that may go on, in the order in which they became ready.
///
/// Everything that wakes a coroutine puts it here instead of resuming it on the spot: resumption
/// then happens in one place, with a flat stack, and never inside a link's bookkeeping. Guarded by
/// the engine's mutex.
class ReadyQueue {
public:
    void push(std::coroutine_handle<> coroutine) { waiting_.push_back(coroutine); }

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Resumes all that are ready, and those that become ready meanwhile; returns whether any was.
    bool run() {
        if (waiting_.empty()) return false;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const std::coroutine_handle<> next = waiting_[i];  // a copy: resume() may push
            next.resume();
        }
        waiting_.clear();
        return true;
    }

private:
    std::vector<std::coroutine_handle<>> waiting_;
};

}  // namespace trireme
