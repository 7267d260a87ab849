#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ratio>

namespace trireme {

/// Virtual time. Whole picoseconds rather than a floating-point number, so that what happens at the
/// same time is seen to, and two runs are alike; 63 bits of them are a hundred days.
using SimTime = std::chrono::duration<std::int64_t, std::pico>;

[[nodiscard]] constexpr SimTime sim_microseconds(double microseconds) noexcept {
    return std::chrono::round<SimTime>(std::chrono::duration<double, std::micro>(microseconds));
}

[[nodiscard]] constexpr double in_microseconds(SimTime time) noexcept {
    return static_cast<double>(time.count()) / 1e6;
}

/// How long `bytes` take at so many 10^9 bytes per second.
[[nodiscard]] inline SimTime sim_duration(std::size_t bytes, double gigabytes_per_second) noexcept {
    constexpr double picoseconds_per_nanosecond = 1e3;
    return SimTime(std::llround(static_cast<double>(bytes) * picoseconds_per_nanosecond /
                                gigabytes_per_second));
}

/// What lies between two ranks.
struct Channel {
    SimTime latency{};
    double gigabytes_per_second = 1;
    std::size_t eager_limit = 0;  ///< of the wire that the library uses there
};

/// What things cost in a simulated world.
struct CostModel {
    Channel in_host{sim_microseconds(0.5), 20, 8 << 10};
    Channel between_hosts{sim_microseconds(5), 12.5, 32 << 10};
    SimTime per_message =
        sim_microseconds(0.2);                ///< of the processor, for each frame, on each side
    double reduce_gigabytes_per_second = 10;  ///< result bytes

    [[nodiscard]] const Channel& channel(bool same_host) const noexcept {
        return same_host ? in_host : between_hosts;
    }
};

}  // namespace trireme
