#include "algorithms.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "algorithm/select.h"
#include "failure.h"

namespace trireme::tool {
namespace {

constexpr const char* about =
    "Prints the selection table: which algorithms an operation has, and when each one is chosen. "
    "Of "
    "the rows of an operation that apply, the last one is taken.\n"
    "TRIREME_ALGORITHM goes before it: "
    "TRIREME_ALGORITHM=\"all_reduce:ring,all_gather:0-4K:bruck\".\n"
    "Example: trireme algorithms all_reduce";

std::string size_text(std::size_t bytes) {
    for (const auto& [unit, shift] : {std::pair{"G", 30}, std::pair{"M", 20}, std::pair{"K", 10}}) {
        if (bytes >= std::size_t{1} << shift && bytes % (std::size_t{1} << shift) == 0) {
            return fmt::format("{}{}", bytes >> shift, unit);
        }
    }
    return std::to_string(bytes);
}

std::string sizes_text(const Algorithm& row) {
    if (row.least_bytes == 0 && row.most_bytes == any_bytes) {
        return "any";
    }
    return fmt::format("{}-{}", size_text(row.least_bytes),
                       row.most_bytes == any_bytes ? "" : size_text(row.most_bytes));
}

std::string ranks_text(const Algorithm& row) {
    if (row.least_ranks == row.most_ranks) {
        return std::to_string(row.least_ranks);
    }
    return fmt::format("{}-", row.least_ranks);
}

std::vector<std::string> needs_of(const Algorithm& row) {
    std::vector<std::string> needs;
    if ((row.traits & needs_memory) != 0) needs.emplace_back("the peers' memory");
    if ((row.traits & needs_even) != 0) needs.emplace_back("equal parts");
    if ((row.traits & needs_hosts) != 0) needs.emplace_back("several hosts");
    return needs;
}

void print_table(const std::vector<Algorithm>& rows) {
    fmt::print("{:<16}{:<14}{:<12}{:<7}{:<12}{}\n", "operation", "algorithm", "bytes", "ranks",
               "rank order", "needs");
    for (const Algorithm& row : rows) {
        fmt::print("{:<16}{:<14}{:<12}{:<7}{:<12}{}\n", info(row.kind).name, row.name,
                   sizes_text(row), ranks_text(row),
                   !info(row.kind).reduces          ? "-"
                   : (row.traits & rank_order) != 0 ? "yes"
                                                    : "no",
                   fmt::join(needs_of(row), ", "));
    }
}

void print_json(const std::vector<Algorithm>& rows) {
    auto list = nlohmann::ordered_json::array();
    for (const Algorithm& row : rows) {
        nlohmann::ordered_json entry{{"operation", info(row.kind).name},
                                     {"algorithm", row.name},
                                     {"least_bytes", row.least_bytes},
                                     {"least_ranks", row.least_ranks},
                                     {"rank_order", (row.traits & rank_order) != 0},
                                     {"needs", needs_of(row)}};
        if (row.most_bytes != any_bytes) entry["most_bytes"] = row.most_bytes;
        if (row.most_ranks != any_ranks) entry["most_ranks"] = row.most_ranks;
        list.push_back(std::move(entry));
    }
    fmt::print("{}\n", list.dump(2));
}

}  // namespace

int algorithms(const std::vector<std::string>& arguments) {
    std::string operation;
    bool json = false;
    CLI::App app(about, "trireme algorithms");
    app.add_option("operation", operation, "Only those of this operation: all_reduce");
    app.add_flag("--json", json, "As JSON, for programs: trireme algorithms --json");
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        throw Failure(fmt::format("algorithms: {} (see trireme algorithms --help)", error.what()),
                      2);
    }
    std::vector<Algorithm> rows;
    for (const Algorithm& row : trireme::algorithms()) {
        if (operation.empty() || info(row.kind).name == operation) rows.push_back(row);
    }
    if (rows.empty()) {
        throw Failure(fmt::format("algorithms: there is no operation \"{}\"", operation), 2);
    }
    json ? print_json(rows) : print_table(rows);
    return 0;
}

}  // namespace trireme::tool
