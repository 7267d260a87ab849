#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "observe/clock_offset.h"
#include "trireme/store.h"

namespace trireme {

/// Finds how far this rank's steady clock is from that of rank 0, through the store.
///
/// Ranks of one kernel have one steady clock: they tell by the kernel's boot identifier and the
/// namespace of their clocks, and nothing is measured. Each other rank asks rank 0 for its time
/// eight times, by a key that rank 0 waits for and one that it answers with; the way there and the
/// way back lead through the same store, so the answer is taken to be from the middle, and the
/// quickest exchange counts: see `estimate_offset`. This is done when the world begins and when it
/// ends, and between the two the offset is taken to change evenly.
class ClockExchange {
public:
    using Now = std::function<std::int64_t()>;

    /// `identity`: what is the same where the clock is; `now` reads it.
    ClockExchange(Store& store, int rank, int size, std::string identity, Now now)
        : store_(store),
          rank_(rank),
          size_(size),
          identity_(std::move(identity)),
          now_(std::move(now)) {}

    /// All ranks at once. Nothing where a rank does not answer in time.
    [[nodiscard]] std::optional<ClockOffset> start(Timeout patience);
    /// Once more, where clocks differ; of no effect elsewhere.
    [[nodiscard]] std::optional<ClockOffset> end(Timeout patience);

private:
    [[nodiscard]] std::optional<ClockOffset> ask(const std::string& stage, Timeout patience);
    void answer(const std::string& stage, int rank, Timeout patience);

    Store& store_;
    int rank_;
    int size_;
    std::string identity_;
    Now now_;
    bool elsewhere_ = false;      // this rank's clock is not that of rank 0
    std::vector<int> strangers_;  // of rank 0: the ranks that are elsewhere
};

/// What tells this process's steady clock from those of other hosts.
[[nodiscard]] std::string steady_clock_identity();

}  // namespace trireme
