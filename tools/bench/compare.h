#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "result_rows.h"

namespace trireme::bench {

/// A measurement that two runs have in common.
struct ComparedRow {
    ResultRow before;
    ResultRow after;

    /// Our time after over our time before: above 1 it became slower.
    [[nodiscard]] double change() const { return *after.ours / *before.ours; }
};

struct Comparison {
    std::vector<ComparedRow> rows;  ///< those that became slower most first
    std::size_t only_before = 0;    ///< measurements that only this run has
    std::size_t only_after = 0;
};

/// Of two reports, as `bench_page` takes them.
[[nodiscard]] Comparison compare_reports(const nlohmann::json& before, const nlohmann::json& after);

/// `trireme bench compare BEFORE.json AFTER.json [--json FILE]`; argv[0] is the word "compare".
/// Returns the exit code.
[[nodiscard]] int compare_command(int argc, char** argv);

}  // namespace trireme::bench
