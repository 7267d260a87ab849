#include "figure_text.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace trireme::bench {
namespace {

// Three digits; larger numbers in full.
std::string three_digits(double value) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string time_text(double microseconds) {
    struct Unit {
        double factor;
        const char* name;
    };
    static constexpr std::array<Unit, 4> units{{{1e3, "ns"}, {1, "µs"}, {1e-3, "ms"}, {1e-6, "s"}}};
    for (const Unit& unit : units) {
        constexpr double rounds_to_thousand = 999.5;
        if (microseconds * unit.factor < rounds_to_thousand || &unit == &units.back()) {
            return fmt::format("{} {}", three_digits(microseconds * unit.factor), unit.name);
        }
    }
    return "";
}

std::string bytes_text(std::uint64_t bytes) {
    static constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024; value /= 1024) {
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, value == std::floor(value) ? 0 : 1, names.at(unit));
}

std::string ratio_text(double ratio) { return three_digits(ratio); }

}  // namespace trireme::bench
