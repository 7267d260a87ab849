// A report as trireme bench writes it, with made-up times.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace trireme::test {

inline nlohmann::json sample_row(const std::string& op, int ranks, std::uint64_t bytes,
                                 const std::string& buffers, double ours, double mpi, double gloo) {
    return {{"op", op},
            {"ranks", ranks},
            {"bytes", bytes},
            {"buffers", buffers},
            {"dtype", "float32"},
            {"ours_us", ours},
            {"min_us", ours * 0.8},
            {"p90_us", ours * 1.4},
            {"peers", {{"openmpi", mpi}, {"mpich", mpi * 1.3 + 1}, {"gloo", gloo}}},
            {"ratio", mpi / ours},
            {"wrong", 0}};
}

inline nlohmann::json sample_limits() {
    nlohmann::json limits{{"cores", 2}};
    const auto add = [&limits](const std::string& name, const std::string& about, double value,
                               const std::string& unit) {
        limits[name] = {{"about", about}, {"best", value}, {"median", value}, {"unit", unit}};
    };
    add("copy_1_core", "copy of 64 MiB, 1 core", 15.7, "GB/s");
    add("copy_all_cores", "copy of 64 MiB, all cores", 18.8, "GB/s");
    add("cache_line_one_way", "cache line, one way", 60, "ns");
    add("sched_yield_to_other", "sched_yield to another thread and back", 2900, "ns");
    limits["copy_by_size"] = {{{"bytes", 1 << 17}, {"GBps", 114}},
                              {{"bytes", 1 << 22}, {"GBps", 60}},
                              {{"bytes", 1 << 26}, {"GBps", 18.8}}};
    return limits;
}

/// Every operation on 2, 4 and 8 ranks, 8 B to 64 MiB.
inline nlohmann::json sample_report() {
    nlohmann::json rows = nlohmann::json::array();
    for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                 "all_to_all", "sendrecv_latency"}) {
        const double weight = op == "all_reduce" ? 1.7 : 1;
        for (const int ranks : {2, 4, 8}) {
            for (const std::uint64_t bytes :
                 {8ULL, 1ULL << 10, 1ULL << 14, 1ULL << 18, 1ULL << 20, 1ULL << 24, 1ULL << 26}) {
                const double size = static_cast<double>(bytes);
                const double base = 0.2 + (ranks - 2) * 2.0;
                const double mpi = weight * (base + size * ranks / 22e3 * (size > 1e6 ? 1.2 : 0.7));
                const double ours = mpi / (1.05 + 0.7 * std::abs(std::cos(size + ranks)));
                const double gloo = 300 * ranks / 2 + size * ranks / 2600;
                rows.push_back(sample_row(op, ranks, bytes, "user", ours, mpi, gloo));
                if (op == "all_reduce") {
                    rows.push_back(sample_row(op, ranks, bytes, "shared",
                                              bytes > 1000 ? ours / 3.1 : ours, mpi, gloo));
                }
            }
        }
    }
    for (const int ranks : {2, 4, 8}) {
        rows.push_back(sample_row("barrier", ranks, 0, "user", 0.09 * ranks * ranks,
                                  0.15 * ranks * ranks, 250.0 * ranks));
    }
    return {{"machine", {{"processor", "Sample"}, {"cores", 2}, {"kernel", "Linux 6.18"}}},
            {"date", "2000-01-01 12:00"},
            {"limits", sample_limits()},
            {"rows", rows}};
}

}  // namespace trireme::test
