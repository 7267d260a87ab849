#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "contest/buffers.h"
#include "contest/contestant.h"
#include "contest/meeting.h"

namespace trireme::bench {

/// How long and how a contestant measures when it is its turn.
struct Turn {
    std::int64_t nanoseconds = 100'000'000;  ///< for all of it, where `iterations` is 0
    int iterations = 0;                      ///< how many times to take; 0: as many as fit
    int warmup = -1;                         ///< calls that are not timed; -1: a few
    bool check = true;
};

struct Measured {
    std::vector<double> microseconds;  ///< of this rank; the driver takes the slowest rank's
    std::uint64_t wrong = 0;
};

// How a time is taken, for all contestants alike:
//
// 1. Every rank writes its inputs anew, so that they lie where a program leaves what it computed:
//    in the caches of the rank that wrote them, and not in those of its peers.
// 2. All meet: first in the contestant's own barrier, which leaves nothing under way, then in
//    `Meeting`, from which all leave at nearly the same time.
// 3. The clock, the call, the clock.
//
// A call of less than 1 KiB takes as little as the clock does, 25 ns. So up to that size a time is
// that of a batch of calls, each on buffers of its own that were written before the batch. Of a
// contestant that is so slow that batches would use up its turn, batches are shorter.
//
// The ranks start together, so the time of a call is that of the rank that takes longest. Nobody's
// last word would do instead: from a broadcast or a reduction some ranks return before the others
// have what they need.
class Measurement {
public:
    Measurement(Contestant& contestant, Meeting& meeting, const Cell& cell)
        : contestant_(contestant),
          meeting_(meeting),
          cell_(cell),
          buffers_(cell, contestant, is_small() ? most_calls : 1),
          call_(contestant.prepare(cell, buffers_.slots())) {}

    Measured run(const Turn& turn) {
        Measured result;
        const auto start = Clock::now();
        if (turn.check) {
            buffers_.poison();
            static_cast<void>(time_batch(1, 0));
            result.wrong += buffers_.wrong(1);
        }
        const Plan plan = make_plan(turn);
        const auto enough = [&](std::size_t taken) {
            if (turn.iterations > 0) return taken >= static_cast<std::size_t>(turn.iterations);
            const auto spent = (Clock::now() - start).count();
            return taken >= most_times || (taken >= fewest_times && spent > turn.nanoseconds) ||
                   (taken >= 1 && spent > 4 * turn.nanoseconds);
        };
        for (int i = 0; i < plan.warmup_batches; ++i) static_cast<void>(time_batch(plan.calls, 0));
        for (;;) {
            const double time = time_batch(plan.calls, enough(result.microseconds.size()) ? 1 : 0);
            if (time < 0) break;
            result.microseconds.push_back(time / cell_.messages_per_call());
        }
        if (turn.check) result.wrong += buffers_.wrong(plan.calls);
        return result;
    }

private:
    using Clock = std::chrono::steady_clock;
    static_assert(Clock::period::den == 1'000'000'000);

    struct Plan {
        std::size_t calls;  ///< of a batch
        int warmup_batches;
    };

    static constexpr std::size_t small_bytes = 1024;
    static constexpr std::size_t most_calls = 64;
    static constexpr std::size_t most_times = 2000;  // more only make the answer long
    static constexpr std::size_t fewest_times = 3;

    [[nodiscard]] bool is_small() const {
        return cell_.bytes <= small_bytes && cell_.operation != Operation::sendrecv_bandwidth;
    }

    // Rank 0 knows from one call how long calls take, and plans for all.
    Plan make_plan(const Turn& turn) {
        const double once = time_batch(1, 0) * 1000;
        const auto fits = [&](int share, std::size_t most) {
            const double calls = static_cast<double>(turn.nanoseconds) / share / std::max(once, 1.);
            return static_cast<std::int64_t>(std::clamp(calls, 0., static_cast<double>(most)));
        };
        const std::int64_t calls =
            meeting_.align(is_small() ? std::max<std::int64_t>(1, fits(8, most_calls)) : 1);
        const std::int64_t automatic = meeting_.align(fits(8, 2 * static_cast<std::size_t>(calls)));
        const std::int64_t warmup = turn.warmup < 0 ? automatic : turn.warmup;
        return {static_cast<std::size_t>(calls), static_cast<int>((warmup + calls - 1) / calls)};
    }

    // Microseconds a call; -1 where rank 0 said to stop.
    double time_batch(std::size_t calls, std::int64_t stop) {
        if (meeting_.align(stop) != 0) return -1;
        buffers_.write(calls, round_);
        round_ += calls + cell_.window();
        contestant_.barrier();
        meeting_.align();
        const auto start = Clock::now();
        for (std::size_t i = 0; i < calls; ++i) call_(i);
        const auto end = Clock::now();
        return static_cast<double>((end - start).count()) / 1000 / static_cast<double>(calls);
    }

    Contestant& contestant_;
    Meeting& meeting_;
    Cell cell_;
    Buffers buffers_;
    Call call_;
    std::size_t round_ = 0;
};

}  // namespace trireme::bench
