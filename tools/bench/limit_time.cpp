#include "limit_time.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace trireme::bench {
namespace {

double positive_number(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_number() ? std::max(0.0, found->get<double>()) : 0;
}

double best_of_limit(const nlohmann::json& limits, const char* name) {
    const auto found = limits.find(name);
    return found != limits.end() && found->is_object() ? positive_number(*found, "best") : 0;
}

bool is_message(const ResultRow& row) {
    return row.op.starts_with("send") || row.op.starts_with("p2p");
}

// Half of the bytes that an operation reads and writes on all ranks together. Sizes count as the
// benchmark's do: the whole output of a gathering operation, the whole input of a scattering one.
std::optional<double> bytes_to_move(const ResultRow& row, double bytes) {
    const double ranks = row.ranks;
    if (row.op == "all_reduce" || row.op == "scan") {
        return ranks * bytes;
    }
    if (row.op == "broadcast" || row.op == "all_gather" || row.op == "all_to_all") {
        return (ranks - 1) * bytes;
    }
    if (row.op == "reduce" || row.op == "reduce_scatter") {
        return (ranks + 1) / 2 * bytes;
    }
    if (row.op == "gather" || row.op == "scatter") {
        return (ranks - 1) / ranks * bytes;
    }
    if (is_message(row)) {
        return bytes;
    }
    if (row.op == "barrier") {
        return 0;
    }
    return std::nullopt;
}

}  // namespace

LimitTime::LimitTime(const nlohmann::json& limits) {
    if (!limits.is_object()) {
        return;
    }
    cores_ = std::max(1.0, positive_number(limits, "cores"));
    flight_ = best_of_limit(limits, "cache_line_one_way") / 1e3;
    change_ = best_of_limit(limits, "sched_yield_to_other") / 2e3;  // there and back
    const auto curve = limits.find("copy_by_size");
    if (curve == limits.end() || !curve->is_array()) {
        return;
    }
    for (const auto& element : *curve) {
        if (!element.is_object()) {
            continue;
        }
        const double bytes = positive_number(element, "bytes");
        const double rate = positive_number(element, "GBps") * 1e3;
        if (bytes > 0 && rate > 0) {
            points_.push_back({bytes, rate});
        }
    }
    std::ranges::sort(points_, {}, &Point::bytes);
}

// Straight between the measured points, over the logarithm of the size.
double LimitTime::rate_at(double bytes_per_core) const {
    const auto above = std::ranges::lower_bound(points_, bytes_per_core, {}, &Point::bytes);
    if (above == points_.begin()) {
        return points_.front().rate;
    }
    if (above == points_.end()) {
        return points_.back().rate;
    }
    const Point& below = *std::prev(above);
    const double part =
        std::log(bytes_per_core / below.bytes) / std::log(above->bytes / below.bytes);
    return below.rate + part * (above->rate - below.rate);
}

std::optional<double> LimitTime::of(const ResultRow& row, double bytes) const {
    const auto moved = bytes_to_move(row, bytes);
    if (points_.empty() || !moved || row.hosts > 1 || row.ranks < 2) {
        return std::nullopt;
    }
    // Of a message, whatever the number of ranks, two have a part.
    const double ranks = is_message(row) ? 2 : row.ranks;
    const double cores = std::min(cores_, ranks);
    // Where many messages are on their way at a time, nobody waits for one's flight.
    const bool waits = row.op.find("bandwidth") == std::string::npos;
    const double floor = flight_ + (std::ceil(ranks / cores_) - 1) * change_;
    const double time = (waits ? floor : 0) + *moved / rate_at(std::max(1.0, *moved / cores));
    return time > 0 ? std::optional(time) : std::nullopt;
}

}  // namespace trireme::bench
