#include "core/waiter.h"

#include <sched.h>

namespace trireme {

namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds alone_below{600};
constexpr nanoseconds stranger_above{40'000};
constexpr std::uint32_t bare_looks = 64;        // looks without a pause: about a microsecond
constexpr std::uint32_t looks_per_yield = 512;  // alone: now and then ask whether still alone
constexpr nanoseconds sleep_after{2'000'000};

// How long this thread's yields take, smoothed over about four of them.
thread_local nanoseconds yield_time{0};

}  // namespace

void Waiter::reset() noexcept {
    looks_ = 0;
    since_ = {};
}

Waiter::Step Waiter::idle() noexcept {
    ++looks_;
    const bool shared = crowded_ || (yield_time >= alone_below && yield_time < stranger_above);
    if (shared || looks_ % looks_per_yield == 0) {
        timed_yield();
        if (since_ == Clock::time_point{}) since_ = last_yield_;
        if (last_yield_ - since_ > sleep_after) return Step::sleep;
        return Step::look;
    }
    if (looks_ > bare_looks) cpu_pause();
    return Step::look;
}

void Waiter::timed_yield() noexcept {
    const auto before = Clock::now();
    sched_yield();
    last_yield_ = Clock::now();
    const nanoseconds took = last_yield_ - before;
    // The smoothing forgets one long time slice quickly, and a short yield counts at once: short
    // yields mean that there is nobody to give way to.
    yield_time = took < alone_below ? took : (3 * yield_time + took) / 4;
}

}  // namespace trireme
