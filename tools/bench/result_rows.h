#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace trireme::bench {

/// One line of a benchmark's results, in microseconds: a time that is missing was not measured.
struct ResultRow {
    std::string op;
    int ranks = 0;
    std::uint64_t bytes = 0;
    std::string buffers;  ///< "user" or "shared"
    std::string variant;  ///< what else tells it from other rows: "bfloat16, in place, 2 hosts"
    std::optional<double> ours;
    std::optional<double> ours_min;
    std::optional<double> ours_p90;
    std::map<std::string, double> peers;  ///< those that were measured
    std::optional<std::uint64_t> wrong;   ///< without value: the results were not checked
    std::map<std::string, std::uint64_t>
        peers_wrong;                              ///< whose results were wrong, how many values
    std::map<std::string, std::string> left_out;  ///< who has no time, and why
    int hosts = 1;

    /// The time of the fastest peer over ours.
    [[nodiscard]] std::optional<double> ratio() const;
};

struct ResultRows {
    std::vector<ResultRow> rows;
    std::size_t unreadable = 0;  ///< elements that were no row
};

/// What a row's variant names: what differs between the rows of the operation, or all that is
/// known.
enum class Variants { differing, all };

/// The rows of a report: an array of objects, or an object that holds such an array as "rows". An
/// element that is no row is counted and left out; so a file from anywhere can be given.
[[nodiscard]] ResultRows read_result_rows(const nlohmann::json& report,
                                          Variants variants = Variants::differing);

/// Reads a file. Throws `std::runtime_error`, which says what is wrong, if it is no report.
[[nodiscard]] nlohmann::json read_report(const std::string& path);

}  // namespace trireme::bench
