#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "result_rows.h"

namespace trireme::bench {

/// What this machine's memory allows: a yardstick for an operation on one host.
///
/// An operation must read and write a certain number of bytes, whoever does it: in an all_reduce
/// each rank's operand is read and each rank's result written. All cores together copy so many
/// bytes per second, in the caches faster than in memory; half of what is read and written, divided
/// by that rate, is the time. Beneath it lies a floor: a cache line's flight from core to core, and
/// one change of process for each further rank that a core has. A yardstick, not a bound: an
/// operation whose operands stay in a cache while those of the plain copy did not is faster.
class LimitTime {
public:
    /// From the "limits" of a report (see limits.h); anything else gives no limit.
    explicit LimitTime(const nlohmann::json& limits);

    /// Microseconds; none for an operation or a machine of which it is not known.
    [[nodiscard]] std::optional<double> of(const ResultRow& row, double bytes) const;

private:
    struct Point {
        double bytes;  // that each core copies
        double rate;   // of all cores, in bytes per microsecond
    };

    [[nodiscard]] double rate_at(double bytes_per_core) const;

    std::vector<Point> points_;
    double cores_ = 1;
    double flight_ = 0;  // of a cache line, microseconds
    double change_ = 0;  // of the process on a core, microseconds
};

}  // namespace trireme::bench
