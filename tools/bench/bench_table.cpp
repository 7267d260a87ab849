#include "bench_table.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include <fmt/format.h>

namespace trireme::bench {
namespace {

// At least three significant digits, in eight columns.
std::string time_text(double microseconds) {
    if (microseconds < 10) {
        return fmt::format("{:.3f}", microseconds);
    }
    return fmt::format("{:.{}f}", microseconds, microseconds < 1000 ? 1 : 0);
}

std::string ratio_text(const std::optional<double>& ratio) {
    if (!ratio) {
        return "-";
    }
    return fmt::format("{:.{}f}", *ratio, *ratio < 100 ? 2 : 0);
}

}  // namespace

std::string size_text(std::size_t bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bytes, units[unit]);
}

Table::Table(const Options& options)
    : peers_(options.peers), on_terminal_(::isatty(STDERR_FILENO) == 1) {}

void Table::begin(Operation operation, int ranks) {
    clear();
    fmt::print("{}{}, {} rank{}; times in µs, bandwidths in GB/s\n", blocks_++ == 0 ? "" : "\n",
               info(operation).name, ranks, ranks == 1 ? "" : "s");
    fmt::print("{:>8} {:>10} {:>9} {:>5} {:>10} {:>9} {:>9} {:>9} {:>7} {:>7} {:>6}", "size",
               "count", "type", "op", "buffers", "min", "median", "p90", "algbw", "busbw", "wrong");
    for (const std::string& peer : peers_) {
        fmt::print(" {:>9}", peer);
    }
    fmt::print("{}\n", peers_.empty() ? "" : fmt::format(" {:>7}", "ratio"));
    std::fflush(stdout);
}

void Table::print(const CellResult& result) {
    clear();
    const Cell& cell = result.cell;
    const OperationInfo& row = info(cell.operation);
    const bool has_data = cell.operation != Operation::barrier;
    const std::string form = fmt::format("{}{}", cell.shared ? "shared" : "user",
                                         has_data && cell.in_place ? " in" : "");
    fmt::print("{:>8} {:>10} {:>9} {:>5} {:>10}", has_data ? size_text(cell.bytes) : "-",
               cell.part(result.ranks), has_data ? info(cell.element).name : "-",
               row.reduces ? cell.reduce : "-", form);
    if (result.ours) {
        fmt::print(" {:>9} {:>9} {:>9} {:>7.2f} {:>7.2f}", time_text(result.ours->min),
                   time_text(result.ours->median), time_text(result.ours->p90),
                   result.algorithm_bandwidth(), result.bus_bandwidth());
    } else {
        fmt::print(" {:>9} {:>9} {:>9} {:>7} {:>7}", "-", "-", "-", "-", "-");
    }
    fmt::print(" {:>6}", result.wrong ? std::to_string(*result.wrong) : "-");
    for (const std::string& peer : peers_) {
        const auto found = result.peers.find(peer);
        fmt::print(" {:>9}", found == result.peers.end() ? "-" : time_text(found->second));
    }
    fmt::print("{}\n", peers_.empty() ? "" : fmt::format(" {:>7}", ratio_text(result.ratio())));
    std::fflush(stdout);
    for (const auto& [entry, count] : result.peers_wrong) {
        say(fmt::format("{}: {} wrong elements in {} of {}", entry, count, row.name,
                        size_text(cell.bytes)));
    }
}

void Table::say(const std::string& text) {
    clear();
    fmt::print(stderr, "trireme bench: {}\n", text);
}

void Table::show(const std::string& text) {
    if (on_terminal_) {
        fmt::print(stderr, "\r\033[K{}", text);
        shows_ = true;
    }
}

void Table::clear() {
    if (shows_) {
        fmt::print(stderr, "\r\033[K");
        shows_ = false;
    }
}

}  // namespace trireme::bench
