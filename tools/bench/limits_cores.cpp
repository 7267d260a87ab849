#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <thread>

#include "limits_measure.h"

namespace trireme::bench {
namespace {

constexpr std::size_t line_apart = 128;  // two lines: processors fetch them in pairs
constexpr std::uint32_t no_more = UINT32_MAX;

// Two threads pass a counter to and fro: even values are ours to raise, odd ones the partner's.
class CounterGame {
public:
    // `wait(counter, condition)` returns when the condition holds of the counter's value; `tell`
    // wakes whoever waits for it.
    template <class Wait, class Tell>
    static void measure(Limit& limit, double part, int our_core, int partners_core,
                        std::uint32_t turns, double per_turn, Wait wait, Tell tell) {
        CounterGame game;
        std::thread partner([&game, partners_core, wait, tell] {
            const Pinned pinned(partners_core);
            while (true) {
                std::uint32_t seen = 0;
                wait(game.counter_, [&seen](std::uint32_t value) {
                    seen = value;
                    return value % 2 == 1;
                });
                if (seen == no_more) return;
                game.counter_.store(seen + 1, std::memory_order_release);
                tell(game.counter_);
            }
        });
        {
            const Pinned pinned(our_core);
            measure_rounds(limit, part, [&] {
                return per_turn / turns * nanoseconds_of([&] {
                           for (std::uint32_t turn = 0; turn < turns; ++turn) {
                               game.counter_.store(1, std::memory_order_release);
                               tell(game.counter_);
                               wait(game.counter_, [](std::uint32_t value) { return value == 2; });
                           }
                       });
            });
            game.counter_.store(no_more, std::memory_order_release);
            tell(game.counter_);
        }
        partner.join();
    }

private:
    alignas(line_apart) std::atomic<std::uint32_t> counter_{0};
};

const auto wait_by_polling = [](std::atomic<std::uint32_t>& counter, auto condition) {
    poll_until([&] { return condition(counter.load(std::memory_order_acquire)); });
};

const auto wait_by_yielding = [](std::atomic<std::uint32_t>& counter, auto condition) {
    while (!condition(counter.load(std::memory_order_acquire))) ::sched_yield();
};

const auto wait_by_futex = [](std::atomic<std::uint32_t>& counter, auto condition) {
    while (true) {
        const std::uint32_t value = counter.load(std::memory_order_acquire);
        if (condition(value)) return;
        ::syscall(SYS_futex, &counter, FUTEX_WAIT, value, nullptr, nullptr, 0);
    }
};

const auto tell_nobody = [](std::atomic<std::uint32_t>&) {};

const auto tell_by_futex = [](std::atomic<std::uint32_t>& counter) {
    ::syscall(SYS_futex, &counter, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
};

}  // namespace

std::vector<Limit> measure_cores(double part) {
    const std::vector<int> cores = allowed_cores();
    const int here = cores.front();
    const int there = cores.size() > 1 ? cores[1] : here;
    constexpr double in_microseconds = 1e-3;

    Limit line{.name = "cache_line_one_way", .about = "cache line, one way", .unit = "ns"};
    CounterGame::measure(line, part, here, there, 10000, 0.5, wait_by_polling, tell_nobody);

    Limit alone{
        .name = "sched_yield_alone", .about = "sched_yield, nobody else there", .unit = "ns"};
    {
        const Pinned pinned(here);
        measure_rounds(alone, part, [] {
            constexpr int calls = 1000;
            return nanoseconds_of([] {
                       for (int i = 0; i < calls; ++i) ::sched_yield();
                   }) /
                   calls;
        });
    }
    Limit other{.name = "sched_yield_to_other",
                .about = "sched_yield to another thread and back",
                .unit = "ns"};
    CounterGame::measure(other, part, here, here, 500, 1, wait_by_yielding, tell_nobody);

    Limit one{.name = "futex_1_core", .about = "futex, there and back, one core", .unit = "µs"};
    CounterGame::measure(one, part, here, here, 200, in_microseconds, wait_by_futex, tell_by_futex);
    Limit two{.name = "futex_2_cores", .about = "futex, there and back, two cores", .unit = "µs"};
    CounterGame::measure(two, part, here, there, 200, in_microseconds, wait_by_futex,
                         tell_by_futex);
    return {line, alone, other, one, two};
}

}  // namespace trireme::bench
