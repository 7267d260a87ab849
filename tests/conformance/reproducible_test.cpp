// Reproducible mode: the left fold in rank order, to the last bit, of values for which every other
// order gives another sum.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/script.h"

namespace trireme::conformance {
namespace {

class Reproducible : public testing::TestWithParam<StageParameters> {};

bool may_run(const Algorithm& row, Transport transport) {
    return (row.traits & rank_order) != 0 &&
           ((row.traits & needs_memory) == 0 || transport == Transport::shm);
}

std::vector<Cell> cells_of(OpKind kind, int ranks) {
    using Kind = ReduceOp::Kind;
    std::vector<Cell> cells;
    for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16})
        for (const Kind reduction : {Kind::sum, Kind::avg, Kind::premul_sum})
            for (const std::size_t count : {1, 37, 1021, 33'000}) {
                // The last one is cut into pieces by all algorithms that cut; once is enough.
                const bool large = count > 5000;
                if (large && (reduction != Kind::sum || dtype != Dtype::float32 || sanitized))
                    continue;
                const std::size_t turn = cells.size();
                cells.push_back({.kind = kind,
                                 .dtype = dtype,
                                 .reduction = {reduction},
                                 .mode = large ? Mode::blocking : static_cast<Mode>(turn % 3),
                                 .parts = static_cast<Parts>(turn / 2 % 3),
                                 .uneven = turn % 4 == 1,
                                 .in_place = turn % 5 > 2,
                                 .root = static_cast<int>(turn) % ranks,
                                 .count = has_parts(kind) ? (count + 2) / 3 : count,
                                 .seed = 1000 + turn,
                                 .flavour = Flavour::wild});
            }
    return cells;
}

TEST_P(Reproducible, GivesTheFoldInRankOrder) {
    const auto [ranks, transport] = GetParam();
    // As many worlds as any operation has permitted rows; one more, in which the table decides.
    for (std::size_t index = 0; index < 4; ++index) {
        Stage stage{.ranks = ranks, .transport = transport, .reproducible = true};
        std::vector<Cell> cells;
        for (const OpInfo& operation : op_table) {
            if (!operation.reduces) continue;
            std::vector<const Algorithm*> rows;
            for (const Algorithm& row : algorithms())
                if (row.kind == operation.kind && may_run(row, transport)) rows.push_back(&row);
            if (index > 0 && index > rows.size()) continue;
            if (index > 0) stage.forced.push_back(rows[index - 1]);
            if (index > 0 && stage.row_for({.kind = operation.kind}) == nullptr) continue;
            for (const Cell& cell : cells_of(operation.kind, ranks)) cells.push_back(cell);
        }
        run_cells(stage, cells);
    }
}

// Whatever cannot keep the promise is refused, on every rank, and the group goes on.
TEST_P(Reproducible, OtherAlgorithmsAreRefused) {
    const auto [ranks, transport] = GetParam();
    std::vector<Stage> stages;
    for (const Algorithm& row : algorithms()) {
        const bool other = info(row.kind).reduces && (row.traits & rank_order) == 0 &&
                           (row.traits & needs_hosts) == 0;
        if (!other) continue;
        // One row per operation and world.
        auto stage = std::ranges::find_if(stages, [&](const Stage& one) {
            return std::ranges::find(one.forced, row.kind, &Algorithm::kind) == one.forced.end();
        });
        if (stage == stages.end())
            stage = stages.insert(
                stages.end(),
                {.ranks = ranks, .transport = transport, .forced = {}, .reproducible = true});
        stage->forced.push_back(&row);
    }
    for (const Stage& stage : stages) {
        std::vector<Cell> cells;
        for (const Algorithm* row : stage.forced)
            for (const Mode mode : {Mode::blocking, Mode::started, Mode::prepared})
                for (const std::size_t count : {std::size_t{3}, std::size_t{5000}}) {
                    const Cell cell{.kind = row->kind, .mode = mode, .count = count};
                    EXPECT_EQ(stage.refusal(cell), ErrorCode::unsupported);
                    cells.push_back(cell);
                    cells.push_back({.kind = OpKind::all_gather, .count = 3});
                }
        run_cells(stage, cells);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Reproducible,
                         testing::Combine(testing::Range(2, most_ranks + 1),
                                          testing::Values(Transport::shm, Transport::tcp)),
                         stage_name);

}  // namespace
}  // namespace trireme::conformance
