#include "core/tick_clock.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace trireme {

namespace {

constexpr std::int64_t fresh_for = 1'000'000;  // ns

#if defined(__x86_64__)
// The kernel has checked then that all processors count alike, whatever they do.
bool is_kernels_clock() {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return static_cast<bool>(file >> name) && name == "tsc";
}
#endif

}  // namespace

TickClock::TickClock() noexcept {
#if defined(__x86_64__)
    static const bool usable = is_kernels_clock();
    usable_ = usable;
#endif
}

// Between two looks, a millisecond apart at least, the ticks give the rate; it holds for as long
// again, in which what it is off by cannot grow beyond what the two looks were off by.
TickClock::Clock::time_point TickClock::look_at_clock() noexcept {
#if defined(__x86_64__)
    // A thread that loses its core between the two would compare what does not belong together.
    constexpr std::uint64_t most_ticks = 2000;
    const std::uint64_t before = __rdtsc();
    const std::int64_t time = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
    const std::uint64_t ticks = __rdtsc();
    last_ = std::max(last_, time);
    if (usable_ && ticks - before < most_ticks) {
        const std::int64_t passed = time - base_time_;
        const std::uint64_t counted = ticks - base_ticks_;
        // Who calls so rarely gains nothing; and over hours the product below would not fit.
        constexpr std::int64_t too_long = std::int64_t{100} * fresh_for;
        if (base_time_ == 0 || passed > too_long) {
            fresh_ticks_ = 0;
            base_time_ = time;
            base_ticks_ = ticks;
        } else if (passed >= fresh_for && counted > 0) {
            nanoseconds_per_tick_ = (static_cast<std::uint64_t>(passed) << rate_shift) / counted;
            fresh_ticks_ = counted * static_cast<std::uint64_t>(fresh_for) /
                           static_cast<std::uint64_t>(passed);
            base_time_ = time;
            base_ticks_ = ticks;
        }
    }
    return Clock::time_point(std::chrono::nanoseconds(last_));
#else
    return Clock::now();
#endif
}

}  // namespace trireme
