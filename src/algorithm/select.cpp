#include "algorithm/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "algorithm/algorithms.h"
#include "algorithm/cells.h"
#include "trireme/error.h"

namespace trireme {

namespace {

namespace a = algorithm;

constexpr std::size_t KiB = 1024;
constexpr std::uint8_t by_memory = needs_memory | meets_in_commons;
constexpr std::uint8_t by_cells = needs_memory | needs_commons | needs_even;

// Of one kind, the last row that applies is chosen: first the ones for any situation, then those
// that are better where they can run.
constexpr std::array table = std::to_array<Algorithm>({
    {OpKind::broadcast, "binomial", a::broadcast_binomial},
    {OpKind::broadcast, "scatter_ring", a::broadcast_scatter_ring, any_situation, 512 * KiB, 4},
    {OpKind::broadcast, "direct", a::copies_direct, by_memory, 32 * KiB, 2},
    {OpKind::broadcast, "cells", a::cells, by_cells, 0, 2, 64},
    {OpKind::broadcast, "alone", a::alone, any_situation, 0, 1, 1},

    {OpKind::all_reduce, "pairwise", a::all_reduce_pairwise, rank_order},
    {OpKind::all_reduce, "tree", a::all_reduce_tree, any_situation},
    {OpKind::all_reduce, "doubling", a::all_reduce_doubling, any_situation},
    {OpKind::all_reduce, "halving", a::all_reduce_halving, any_situation, 16 * KiB, 2},
    {OpKind::all_reduce, "ring", a::all_reduce_ring, any_situation, 64 * KiB, 2},
    {OpKind::all_reduce, "hosts", a::all_reduce_hosts, needs_hosts, 4 * KiB, 3},
    {OpKind::all_reduce, "direct", a::all_reduce_direct, by_memory | rank_order, 64 * KiB, 2},
    {OpKind::all_reduce, "cells", a::cells, by_cells | rank_order, 0, 2, 64},
    {OpKind::all_reduce, "alone", a::alone, rank_order, 0, 1, 1},

    {OpKind::reduce, "chain", a::reduce_chain, rank_order},
    {OpKind::reduce, "binomial", a::reduce_binomial, any_situation},
    {OpKind::reduce, "direct", a::reduce_direct, by_memory | rank_order, 32 * KiB, 2},
    {OpKind::reduce, "alone", a::alone, rank_order, 0, 1, 1},

    {OpKind::all_gather, "ring", a::all_gather_ring, any_situation},
    {OpKind::all_gather, "bruck", a::all_gather_bruck, needs_even, 0, 2, any_ranks, 8 * KiB},
    {OpKind::all_gather, "direct", a::copies_direct, by_memory, 32 * KiB, 2},
    {OpKind::all_gather, "cells", a::cells, by_cells, 0, 2, 64},
    {OpKind::gather, "linear", a::gather_linear},
    {OpKind::gather, "direct", a::copies_direct, by_memory, 32 * KiB, 2},
    {OpKind::scatter, "linear", a::scatter_linear},
    {OpKind::scatter, "direct", a::copies_direct, by_memory, 32 * KiB, 2},

    {OpKind::reduce_scatter, "pairwise", a::reduce_scatter_pairwise, rank_order},
    {OpKind::reduce_scatter, "ring", a::reduce_scatter_ring, any_situation, 0, 2},
    {OpKind::reduce_scatter, "direct", a::reduce_scatter_direct, by_memory | rank_order, 8 * KiB,
     2},
    {OpKind::reduce_scatter, "cells", a::cells, by_cells | rank_order, 0, 2, 64},
    {OpKind::reduce_scatter, "alone", a::alone, rank_order, 0, 1, 1},

    {OpKind::all_to_all, "pairwise", a::all_to_all_pairwise},
    {OpKind::all_to_all, "bruck", a::all_to_all_bruck, needs_even, 0, 8, any_ranks, 512},
    {OpKind::all_to_all, "direct", a::copies_direct, by_memory, 16 * KiB, 2},
    {OpKind::all_to_all, "cells", a::cells, by_cells, 0, 2, 64},
    {OpKind::barrier, "dissemination", a::barrier_dissemination},
    {OpKind::barrier, "cells", a::cells, by_cells, 0, 2, 64},
    {OpKind::monitored_barrier, "star", a::barrier_star},

    {OpKind::scan, "chain", a::scan_chain, rank_order},
    {OpKind::scan, "doubling", a::scan_doubling, any_situation, 0, 1, any_ranks, 256 * KiB},
    {OpKind::exclusive_scan, "chain", a::scan_chain, rank_order},
    {OpKind::exclusive_scan, "doubling", a::scan_doubling, any_situation, 0, 1, any_ranks,
     256 * KiB},

    {OpKind::send, "direct", a::send_direct},
    {OpKind::recv, "direct", a::receive_direct},
});

bool has(const Algorithm& row, AlgorithmTrait trait) noexcept { return (row.traits & trait) != 0; }

// Everyone reads what all others bring.
bool fits_cells(const Situation& situation) noexcept {
    const auto ranks = static_cast<std::size_t>(situation.ranks);
    const bool scattered = info(situation.kind).shape == Shape::scattered;
    const std::size_t payload = a::cells_bytes / (situation.widened ? 2 : 1);
    const std::size_t most = std::min(payload, a::cells_read_bytes / ranks);
    return situation.bytes <= most / (scattered ? ranks : 1);
}

// Whether a row suits a call.
bool suits(const Algorithm& row, const Situation& situation) noexcept {
    return situation.ranks >= row.least_ranks && situation.ranks <= row.most_ranks &&
           !(has(row, needs_even) && situation.uneven) &&
           !(has(row, needs_hosts) && !situation.several_hosts) &&
           !(has(row, needs_commons) && !fits_cells(situation));
}

// Why a row may not run in a group; empty where it may.
std::string_view obstacle(const Algorithm& row, const Situation& situation) noexcept {
    if (has(row, needs_memory) && !situation.memory)
        return "the ranks cannot reach each other's memory";
    if (has(row, needs_commons) && !situation.commons) return "the ranks share no memory";
    if (!has(row, rank_order) && situation.in_rank_order && info(row.kind).reduces)
        return "it does not reduce in rank order, as reproducible mode and a reduction that does "
               "not commute demand";
    return {};
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TRIREME_ALGORITHM=\"{}\": {}", text, why));
}

const Algorithm& find(std::string_view text, std::string_view operation, std::string_view name) {
    std::vector<std::string_view> operations;
    std::vector<std::string_view> names;
    for (const Algorithm& row : table) {
        const std::string_view one = info(row.kind).name;
        if (one == operation && row.name == name) return row;
        if (one == operation) names.push_back(row.name);
        if (operations.empty() || operations.back() != one) operations.push_back(one);
    }
    if (names.empty())
        refuse(text, fmt::format("no operation \"{}\"; there are {}", operation,
                                 fmt::join(operations, ", ")));
    refuse(text, fmt::format("no algorithm \"{}\" for {}; there are {}", name, operation,
                             fmt::join(names, ", ")));
}

// "4K" is 4096; nothing where it is no size.
std::optional<std::size_t> parse_size(std::string_view size) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
    if (error != std::errc{}) return std::nullopt;
    const std::string_view unit = size.substr(static_cast<std::size_t>(end - size.data()));
    constexpr std::string_view units = "KMG";
    if (unit.empty()) return value;
    const std::size_t power = units.find(unit);
    if (unit.size() != 1 || power == units.npos) return std::nullopt;
    const std::size_t shift = 10 * (power + 1);
    if (value > any_bytes >> shift) return std::nullopt;
    return value << shift;
}

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return table; }

AlgorithmChoice::AlgorithmChoice(std::string_view text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        const std::size_t first = entry.find(':');
        const std::size_t last = entry.rfind(':');
        const std::string_view name = first == entry.npos ? "" : entry.substr(last + 1);
        Entry forced{&find(text, entry.substr(0, first), name)};
        if (first != last) {
            const std::string_view range = entry.substr(first + 1, last - first - 1);
            const std::size_t dash = range.find('-');
            const auto least = parse_size(range.substr(0, dash));
            const bool open = dash != range.npos && dash + 1 == range.size();
            const auto most = dash == range.npos ? std::nullopt
                              : open             ? std::optional(any_bytes)
                                                 : parse_size(range.substr(dash + 1));
            if (!least || !most || *least > *most)
                refuse(text,
                       fmt::format("\"{}\" is no range of sizes; write 0-4K, or 64K-", range));
            forced.least_bytes = *least;
            forced.most_bytes = *most;
        }
        forced_.push_back(forced);
    }
}

const Algorithm& AlgorithmChoice::select(const Situation& situation) const {
    for (const Entry& forced : forced_) {
        const Algorithm& row = *forced.row;
        if (row.kind != situation.kind || situation.bytes < forced.least_bytes ||
            situation.bytes > forced.most_bytes || !suits(row, situation))
            continue;
        const std::string_view why = obstacle(row, situation);
        if (why.empty() || situation.ranks == 1) return row;
        throw Error(ErrorCode::unsupported,
                    fmt::format("TRIREME_ALGORITHM asks for {}:{}, which cannot run here: {}",
                                info(row.kind).name, row.name, why));
    }
    const auto chosen = std::find_if(table.rbegin(), table.rend(), [&](const Algorithm& row) {
        return row.kind == situation.kind && situation.bytes >= row.least_bytes &&
               situation.bytes <= row.most_bytes && suits(row, situation) &&
               obstacle(row, situation).empty();
    });
    return *chosen;
}

}  // namespace trireme
