#pragma once

#include <algorithm>
#include <chrono>

#include "trireme/types.h"

namespace trireme::store {

/// A point in time up to which a call may block. Timeouts of any size are safe: negative ones
/// count as zero, absurd ones as a year, so that the sum with now() cannot overflow.
class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] static Timeout clamp(Timeout timeout) noexcept {
        return std::clamp<Timeout>(timeout, Timeout::zero(), std::chrono::hours(24 * 365));
    }

    explicit Deadline(Timeout timeout) noexcept : time_(Clock::now() + clamp(timeout)) {}

    [[nodiscard]] Clock::time_point time() const noexcept { return time_; }
    [[nodiscard]] bool passed() const noexcept { return Clock::now() >= time_; }

    /// What is left, rounded up, never negative.
    [[nodiscard]] Timeout left() const noexcept {
        return std::max(Timeout::zero(), std::chrono::ceil<Timeout>(time_ - Clock::now()));
    }

    [[nodiscard]] Deadline earlier(const Deadline& other) const noexcept {
        return other.time_ < time_ ? other : *this;
    }

private:
    Clock::time_point time_;
};

}  // namespace trireme::store
