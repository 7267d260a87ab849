#include "core/tick_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace trireme {
namespace {

using namespace std::chrono_literals;
using Clock = TickClock::Clock;

// Wherever the thread loses its core, a time lies between two looks at the clock around it.
void expect_right(TickClock& ticks, Clock::time_point& last) {
    constexpr auto tolerance = 20us;
    const auto before = Clock::now();
    const auto time = ticks.now();
    const auto after = Clock::now();
    ASSERT_GE(time, before - tolerance);
    ASSERT_LE(time, after + tolerance);
    ASSERT_GE(time, last);
    last = time;
}

TEST(TickClock, AgreesWithTheClockAndNeverGoesBack) {
    TickClock ticks;
    Clock::time_point last{};
    const auto end = Clock::now() + 50ms;
    while (Clock::now() < end) ASSERT_NO_FATAL_FAILURE(expect_right(ticks, last));
}

// As in a job that computes between its calls.
TEST(TickClock, AgreesAfterPausesOfAnyLength) {
    TickClock ticks;
    Clock::time_point last{};
    for (const auto pause : {1us, 500us, 1000us, 3000us, 150000us, 10us, 2000us}) {
        std::this_thread::sleep_for(pause);
        for (int i = 0; i < 1000; ++i) ASSERT_NO_FATAL_FAILURE(expect_right(ticks, last));
    }
}

}  // namespace
}  // namespace trireme
