// Every algorithm of the table, forced, on 1 to 9 ranks in each form.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/rows.h"
#include "conformance/script.h"

namespace trireme::conformance {
namespace {

struct Form {
    Mode mode;
    Parts parts;
    bool uneven;
    bool in_place;
};

constexpr Form forms[] = {
    {Mode::blocking, Parts::whole, false, false}, {Mode::blocking, Parts::whole, false, true},
    {Mode::blocking, Parts::split, true, false},  {Mode::blocking, Parts::list, true, true},
    {Mode::started, Parts::whole, false, false},  {Mode::started, Parts::list, false, false},
    {Mode::prepared, Parts::whole, false, true},  {Mode::prepared, Parts::split, true, false},
};

// Small, and around the eager limits: 8 KiB in shared memory, 32 KiB over TCP.
constexpr std::size_t small_counts[] = {0, 1, 7, 1021, 2048, 2049, 8193};
// Around what a chain hands on at a time (128 KiB), and above what the direct algorithm folds at a
// time (256 KiB).
constexpr std::size_t large_counts[] = {32768, 32769, 75'001};

// Every second form where time is short.
std::vector<Cell> cells_of(const Algorithm& row, int ranks, bool every_second) {
    std::vector<Cell> cells;
    const auto add = [&](const Form& form, Dtype dtype, std::size_t count) {
        const Reduction reductions[] = {{ReduceOp::Kind::sum},
                                        {ReduceOp::Kind::min},
                                        {ReduceOp::Kind::avg},
                                        {ReduceOp::Kind::premul_sum}};
        Reduction reduction = reductions[cells.size() % (dtype == Dtype::int64 ? 2 : 4)];
        if (info(row.kind).reduces && (row.traits & rank_order) != 0 && cells.size() % 3 == 0)
            reduction = {ReduceOp::Kind::user, Own::affine};
        cells.push_back({.kind = row.kind,
                         .dtype = dtype,
                         .reduction = reduction,
                         .mode = form.mode,
                         .parts = form.parts,
                         .uneven = form.uneven,
                         .in_place = form.in_place,
                         .root = static_cast<int>(cells.size()) % ranks,
                         .count = count,
                         .seed = cells.size()});
    };
    const bool differ = has_parts(row.kind);
    std::size_t turn = static_cast<std::size_t>(ranks);
    for (const Form& form : forms) {
        if (form.parts != Parts::whole && !differ) continue;
        if (every_second && (&form - forms + ranks) % 2 == 0) continue;
        for (const std::size_t count : small_counts)
            add(form, ++turn % 2 == 0 ? Dtype::float32 : Dtype::int64,
                differ && count > 2049 ? count / 4 : count);
    }
    // The large ones take turns, with the number of ranks and from operation to operation.
    const std::size_t index = static_cast<std::size_t>(ranks) + static_cast<std::size_t>(row.kind);
    const std::size_t large = large_counts[index % std::size(large_counts)];
    if (!sanitized || index % 3 == 0)
        add(forms[index % (differ ? std::size(forms) : 2)], Dtype::float32,
            differ ? large / 3 : large);
    return cells;
}

class EveryAlgorithm : public testing::TestWithParam<StageParameters> {};

TEST_P(EveryAlgorithm, GivesTheSameValues) {
    const auto [ranks, transport] = GetParam();
    for (std::size_t index = 0; !rows_of_index(transport, index).empty(); ++index) {
        const Stage stage{
            .ranks = ranks, .transport = transport, .forced = rows_of_index(transport, index)};
        std::vector<Cell> cells;
        for (const Algorithm* row : stage.forced) {
            if (!has_cells(row->kind) || stage.row_for({.kind = row->kind}) == nullptr) continue;
            for (const Cell& cell : cells_of(*row, ranks, sanitized || transport == Transport::tcp))
                cells.push_back(cell);
        }
        run_cells(stage, cells);
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryAlgorithm,
                         testing::Combine(testing::Range(1, most_ranks + 1),
                                          testing::Values(Transport::shm, Transport::tcp)),
                         stage_name);

}  // namespace
}  // namespace trireme::conformance
