#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result_rows.h"

namespace trireme::bench {

/// Whom a goal compares us with.
enum class Rival { mpi, gloo };

/// A line of the table of what Trireme is to reach: how many times faster than its rival an
/// operation is to be.
struct Goal {
    enum class Ops { collectives, all_reduce, others, latency, bandwidth };

    std::string_view text;
    Ops ops;
    Rival rival;
    std::uint64_t least_bytes;
    std::uint64_t most_bytes;
    std::string_view buffers;  ///< "user", "shared", or empty for both
    bool between_hosts;
    double a_core_each;  ///< with two ranks
    double more_ranks;   ///< with more ranks than that
};

[[nodiscard]] const std::vector<Goal>& goals();

/// Which goal a row has against a rival; none if there is none. An index of `goals()`.
[[nodiscard]] std::optional<std::size_t> goal_of(const ResultRow& row, Rival rival);

/// What the goal asks of this row.
[[nodiscard]] double goal_ratio(const Goal& goal, const ResultRow& row);

/// The time of the best of these rivals in microseconds, and its name.
struct RivalTime {
    double time;
    std::string name;
};
[[nodiscard]] std::optional<RivalTime> best_rival(const ResultRow& row, Rival rival);

}  // namespace trireme::bench
