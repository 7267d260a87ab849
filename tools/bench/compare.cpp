#include "compare.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "figure_text.h"

namespace trireme::bench {
namespace {

// What must be equal for two rows to be the same measurement.
using RowKey = std::tuple<std::string, std::string, int, std::uint64_t, std::string>;
using RowsByKey = std::map<RowKey, ResultRow>;

RowsByKey rows_by_key(const nlohmann::json& report) {
    RowsByKey result;
    for (ResultRow& row : read_result_rows(report, Variants::all).rows) {
        if (row.ours) {
            RowKey key{row.op, row.variant, row.ranks, row.bytes, row.buffers};
            result.insert_or_assign(std::move(key), std::move(row));
        }
    }
    return result;
}

std::string wrong_mark(const ComparedRow& row) {
    const bool before = row.before.wrong.value_or(0) > 0;
    const bool after = row.after.wrong.value_or(0) > 0;
    return before && after ? "  WRONG in both"
           : after         ? "  WRONG after"
           : before        ? "  WRONG before"
                           : "";
}

std::string optional_ratio(const std::optional<double>& ratio) {
    return ratio ? ratio_text(*ratio) : "-";
}

void print_comparison(const Comparison& comparison) {
    constexpr const char* line = "{:<{}}{:>7}{:>10}{:>9}{:>10}{:>10}{:>16}{:>14}{:>13}{}\n";
    std::size_t width = 9;
    const auto title = [](const ResultRow& row) {
        return row.variant.empty() ? row.op : row.op + ", " + row.variant;
    };
    for (const ComparedRow& row : comparison.rows) {
        width = std::max(width, title(row.after).size());
    }
    fmt::print(fmt::runtime(line), "operation", width, "ranks", "size", "buffers", "before",
               "after", "after / before", "ratio before", "ratio after", "");
    for (const ComparedRow& row : comparison.rows) {
        fmt::print(fmt::runtime(line), title(row.after), width, row.after.ranks,
                   bytes_text(row.after.bytes), row.after.buffers, time_text(*row.before.ours),
                   time_text(*row.after.ours), fmt::format("{:.3f}", row.change()),
                   optional_ratio(row.before.ratio()), optional_ratio(row.after.ratio()),
                   wrong_mark(row));
    }
    if (comparison.rows.empty()) {
        fmt::print("The two runs have no measurement in common.\n");
    }
    if (comparison.only_before + comparison.only_after > 0) {
        fmt::print("\nMeasured only before: {}; only after: {}\n", comparison.only_before,
                   comparison.only_after);
    }
}

void write_comparison(const Comparison& comparison, const std::string& path) {
    nlohmann::json rows = nlohmann::json::array();
    for (const ComparedRow& row : comparison.rows) {
        rows.push_back({{"op", row.after.op},
                        {"variant", row.after.variant},
                        {"ranks", row.after.ranks},
                        {"bytes", row.after.bytes},
                        {"buffers", row.after.buffers},
                        {"before_us", *row.before.ours},
                        {"after_us", *row.after.ours},
                        {"change", row.change()}});
        const auto add = [&rows](const char* name, const std::optional<double>& ratio) {
            rows.back()[name] = ratio ? nlohmann::json(*ratio) : nlohmann::json();
        };
        add("ratio_before", row.before.ratio());
        add("ratio_after", row.after.ratio());
    }
    constexpr int indent = 2;
    std::ofstream file(path);
    file << nlohmann::json{{"rows", rows},
                           {"only_before", comparison.only_before},
                           {"only_after", comparison.only_after}}
                .dump(indent)
         << '\n';
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

Comparison compare_reports(const nlohmann::json& before, const nlohmann::json& after) {
    Comparison comparison;
    RowsByKey old_rows = rows_by_key(before);
    RowsByKey new_rows = rows_by_key(after);
    for (const auto& [key, row] : old_rows) {
        const auto found = new_rows.find(key);
        if (found == new_rows.end()) {
            ++comparison.only_before;
        } else {
            comparison.rows.push_back({.before = row, .after = found->second});
        }
    }
    comparison.only_after = new_rows.size() - comparison.rows.size();
    std::ranges::sort(comparison.rows, std::ranges::greater(), &ComparedRow::change);
    return comparison;
}

int compare_command(int argc, char** argv) {
    CLI::App app(
        "Compares our times in two runs, those first that became slower most. A ratio is the "
        "fastest\n"
        "peer's time over ours.",
        "trireme bench compare");
    std::string before;
    std::string after;
    std::string json;
    app.add_option("BEFORE", before,
                   "What trireme bench --json wrote.\n"
                   "Example: trireme bench compare before.json after.json")
        ->required()
        ->type_name("FILE");
    app.add_option("AFTER", after, "The same of another run.")->required()->type_name("FILE");
    app.add_option("--json", json,
                   "Also write the comparison to FILE.\nExample: --json changes.json")
        ->type_name("FILE");
    try {
        app.parse(argc, argv);
        const Comparison comparison = compare_reports(read_report(before), read_report(after));
        print_comparison(comparison);
        if (!json.empty()) write_comparison(comparison, json);
        return 0;
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "trireme bench compare: {} (see trireme bench compare --help)\n",
                   error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "trireme bench compare: {}\n", error.what());
        return 1;
    }
}

}  // namespace trireme::bench
