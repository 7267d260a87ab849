#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "contest/cell.h"

namespace trireme::bench {

/// Of one contestant's times in microseconds.
struct Times {
    double min, median, p90;
};

/// Sorts its argument, which is not empty.
[[nodiscard]] Times times_of(std::vector<double> samples);

/// A line of the table, and a row of the JSON.
struct CellResult {
    Cell cell;
    int ranks = 0;
    int hosts = 1;
    std::optional<Times> ours;
    std::size_t samples = 0;                ///< of ours
    std::optional<std::uint64_t> wrong;     ///< without value: not checked
    std::map<std::string, double> peers;    ///< median of the best entry of each
    std::map<std::string, double> entries;  ///< median of each of the peers' entries
    std::map<std::string, std::uint64_t> peers_wrong;
    std::map<std::string, std::string> left_out;  ///< entry: why

    /// The best peer's time over ours.
    [[nodiscard]] std::optional<double> ratio() const;
    /// GB/s, from our median.
    [[nodiscard]] double algorithm_bandwidth() const;
    [[nodiscard]] double bus_bandwidth() const;
};

void to_json(nlohmann::json& json, const CellResult& result);

}  // namespace trireme::bench
