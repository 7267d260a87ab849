#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace trireme {

/// One exchange with the holder of another clock: asked at `sent`, answered there at `there`, the
/// answer was here at `received`. Nanoseconds, the middle one of the other clock.
struct ClockSample {
    std::int64_t sent = 0;
    std::int64_t there = 0;
    std::int64_t received = 0;
};

/// What must be added to this clock's time to get the other's.
struct ClockOffset {
    std::int64_t at = 0;  ///< when it was found, on this clock
    std::int64_t offset = 0;
    std::int64_t uncertainty = 0;  ///< it is right to within this much
};

/// The answer was written somewhere between question and answer: most likely in the middle, and
/// surely not further from it than half of the time between. So the quickest exchange tells most,
/// and the others, which waited in queues, are left out. Nothing where there is no sane sample.
[[nodiscard]] std::optional<ClockOffset> estimate_offset(std::span<const ClockSample> samples);

/// `time` of this clock on the other one. Two clocks run apart by some microseconds per second:
/// between two estimates the offset is taken to change evenly, outside of them not at all.
[[nodiscard]] std::int64_t on_other_clock(std::int64_t time, std::span<const ClockOffset> offsets);

}  // namespace trireme
