#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace trireme {

/// The steady clock's time, read faster: from the processor's own counter, where the kernel keeps
/// its time by that counter too (file `current_clocksource` of sysfs says `tsc`); else from the
/// clock itself.
///
/// The clock takes 25 to 30 ns, and waits for all loads before it: what comes from another core's
/// cache would not arrive meanwhile. The counter takes 10 and waits for nothing. It is compared
/// with the clock every millisecond at most, so that the two differ by less than a microsecond, and
/// never goes back. For one thread at a time.
class TickClock {
public:
    using Clock = std::chrono::steady_clock;

    TickClock() noexcept;

    [[nodiscard]] Clock::time_point now() noexcept {
#if defined(__x86_64__)
        const std::uint64_t since = __rdtsc() - base_ticks_;
        // Also true where the counter seems to have gone back, and before the rate is known.
        if (since >= fresh_ticks_) [[unlikely]]
            return look_at_clock();
        const std::int64_t time =
            base_time_ + static_cast<std::int64_t>(since * nanoseconds_per_tick_ >> rate_shift);
        last_ = time > last_ ? time : last_;
        return Clock::time_point(std::chrono::nanoseconds(last_));
#else
        return Clock::now();
#endif
    }

private:
    static constexpr int rate_shift = 24;

    Clock::time_point look_at_clock() noexcept;

    bool usable_ = false;
    std::uint64_t base_ticks_ = 0;
    std::int64_t base_time_ = 0;  // 0: never looked
    std::int64_t last_ = 0;
    std::uint64_t fresh_ticks_ = 0;           // so long what follows holds
    std::uint64_t nanoseconds_per_tick_ = 0;  // times 2 to the power of `rate_shift`
};

}  // namespace trireme
