#include "sim_range.h"

#include <array>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace trireme::tool {
namespace {

constexpr std::size_t most_points = 6;

std::size_t parse_number(std::string_view text, std::size_t least, std::size_t most) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    constexpr std::string_view units = "KMG";
    const std::size_t power = unit.empty() ? 0 : units.find(unit.front()) + 1;  // none: npos + 1
    if (error != std::errc{} || unit.size() > 1 || (!unit.empty() && power == 0)) {
        throw std::invalid_argument(
            fmt::format("\"{}\" is no number; write 1000, 64K, 2M or 1G", text));
    }
    const std::size_t shift = 10 * power;
    if (value > most >> shift || value << shift < least) {
        throw std::invalid_argument(
            fmt::format("{} is out of range; it must be from {} to {}", text, least, most));
    }
    return value << shift;
}

std::vector<std::size_t> points_between(std::size_t first, std::size_t last, std::size_t factor) {
    std::vector<std::size_t> points;
    for (std::size_t point = first; point < last; point *= factor) {
        points.push_back(point);
    }
    points.push_back(last);
    return points;
}

}  // namespace

std::vector<std::size_t> parse_range(std::string_view text, std::size_t factor, std::size_t least,
                                     std::size_t most) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
        const std::size_t first = parse_number(text.substr(0, colon), least, most);
        const std::size_t last = parse_number(text.substr(colon + 1), least, most);
        if (first > last || first == 0) {
            throw std::invalid_argument(
                fmt::format("\"{}\" is no range; write the smaller number first, and not 0", text));
        }
        std::vector<std::size_t> points = points_between(first, last, 2);
        return points.size() <= most_points ? points : points_between(first, last, factor);
    }
    std::vector<std::size_t> points;
    for (;;) {
        const std::size_t comma = text.find(',');
        points.push_back(parse_number(text.substr(0, comma), least, most));
        if (comma == std::string_view::npos) {
            return points;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string human_bytes(double bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    constexpr double step = 1024;
    std::size_t unit = 0;
    while (bytes >= step && unit + 1 < units.size()) {
        bytes /= step;
        ++unit;
    }
    const bool whole = bytes == static_cast<double>(static_cast<std::size_t>(bytes));
    return whole ? fmt::format("{:.0f} {}", bytes, units[unit])
                 : fmt::format("{:.1f} {}", bytes, units[unit]);
}

}  // namespace trireme::tool
