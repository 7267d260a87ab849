#include "algorithm/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "algorithm/algorithms.h"
#include "trireme/error.h"

namespace trireme {

namespace {

constexpr std::size_t KiB = 1024;

// Of one kind, the last row that applies is chosen.
constexpr std::array table = std::to_array<Algorithm>({
    {OpKind::broadcast, "binomial", algorithm::broadcast_binomial},
    {OpKind::broadcast, "alone", algorithm::alone, 0, 1, 1},

    {OpKind::all_reduce, "doubling", algorithm::all_reduce_doubling},
    {OpKind::all_reduce, "ring", algorithm::all_reduce_ring, 32 * KiB, 2},
    {OpKind::all_reduce, "direct", algorithm::all_reduce_direct, 64 * KiB, 2, 1 << 30, true},
    {OpKind::all_reduce, "alone", algorithm::alone, 0, 1, 1},

    {OpKind::reduce, "binomial", algorithm::reduce_binomial},
    {OpKind::reduce, "alone", algorithm::alone, 0, 1, 1},

    {OpKind::all_gather, "ring", algorithm::all_gather_ring},
    {OpKind::gather, "linear", algorithm::gather_linear},
    {OpKind::scatter, "linear", algorithm::scatter_linear},

    {OpKind::reduce_scatter, "ring", algorithm::reduce_scatter_ring, 0, 2},
    {OpKind::reduce_scatter, "alone", algorithm::alone, 0, 1, 1},

    {OpKind::all_to_all, "pairwise", algorithm::all_to_all_pairwise},
    {OpKind::barrier, "dissemination", algorithm::barrier_dissemination},

    {OpKind::send, "direct", algorithm::send_direct},
    {OpKind::recv, "direct", algorithm::receive_direct},
});

// Whether a row can run at all, whatever the size.
bool can_run(const Algorithm& row, int ranks, bool memory) noexcept {
    return ranks >= row.least_ranks && ranks <= row.most_ranks && (memory || !row.needs_memory);
}

const Algorithm& find(std::string_view text, std::string_view operation, std::string_view name) {
    std::vector<std::string> known;
    for (const Algorithm& row : table) {
        if (info(row.kind).name == operation && row.name == name) return row;
        known.push_back(fmt::format("{}:{}", info(row.kind).name, row.name));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TRIREME_ALGORITHM=\"{}\": no algorithm \"{}\" for operation \"{}\"; "
                            "there are {}",
                            text, name, operation, fmt::join(known, ", ")));
}

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return table; }

AlgorithmChoice::AlgorithmChoice(std::string_view text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        const std::size_t colon = entry.find(':');
        forced_.push_back(&find(text, entry.substr(0, colon),
                                colon == entry.npos ? "" : entry.substr(colon + 1)));
    }
}

const Algorithm& AlgorithmChoice::select(OpKind kind, std::size_t bytes, int ranks,
                                         bool memory) const {
    for (const Algorithm* row : forced_) {
        if (row->kind != kind) continue;
        if (can_run(*row, ranks, memory)) return *row;
        if (ranks > 1)
            throw Error(
                ErrorCode::unsupported,
                fmt::format(
                    "TRIREME_ALGORITHM asks for {}:{}, which cannot run on {} "
                    "ranks{}",
                    info(kind).name, row->name, ranks,
                    row->needs_memory && !memory ? " that cannot reach each other's memory" : ""));
    }
    const auto chosen = std::find_if(table.rbegin(), table.rend(), [&](const Algorithm& row) {
        return row.kind == kind && bytes >= row.least_bytes && can_run(row, ranks, memory);
    });
    return *chosen;
}

}  // namespace trireme
