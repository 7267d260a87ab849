#include "observe/clock_offset.h"

namespace trireme {

std::optional<ClockOffset> estimate_offset(std::span<const ClockSample> samples) {
    std::optional<ClockOffset> best;
    for (const ClockSample& sample : samples) {
        const std::int64_t half = (sample.received - sample.sent) / 2;
        if (half < 0 || (best && half >= best->uncertainty)) continue;
        const std::int64_t middle = sample.sent + half;
        best = ClockOffset{.at = middle, .offset = sample.there - middle, .uncertainty = half};
    }
    return best;
}

std::int64_t on_other_clock(std::int64_t time, std::span<const ClockOffset> offsets) {
    if (offsets.empty()) return time;
    const ClockOffset& first = offsets.front();
    const ClockOffset& last = offsets.back();
    if (time <= first.at || last.at <= first.at) return time + first.offset;
    if (time >= last.at) return time + last.offset;
    const double part =
        static_cast<double>(time - first.at) / static_cast<double>(last.at - first.at);
    return time + first.offset +
           static_cast<std::int64_t>(part * static_cast<double>(last.offset - first.offset));
}

}  // namespace trireme
