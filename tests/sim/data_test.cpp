// Every algorithm of the selection table moves real data through the simulated network, and what
// arrives is compared with a plain computation.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "simulations.h"

namespace trireme {
namespace {

// At -O0 under a sanitizer all of it would take minutes.
#if defined(__SANITIZE_ADDRESS__)
constexpr int most_ranks = 7;
const std::vector<int> many_ranks{33};
const std::vector<std::pair<Dtype, bool>> forms{{Dtype::float32, true}, {Dtype::int64, false}};
#else
constexpr int most_ranks = 17;
const std::vector<int> many_ranks{33, 64};
const std::vector<std::pair<Dtype, bool>> forms{
    {Dtype::float32, false}, {Dtype::float32, true}, {Dtype::int64, false}, {Dtype::int64, true}};
#endif

std::vector<const Algorithm*> rows_to_run() {
    std::vector<const Algorithm*> rows;
    for (const Algorithm& row : algorithms())
        if (!info(row.kind).point_to_point) rows.push_back(&row);
    return rows;
}

std::string name_of(const testing::TestParamInfo<const Algorithm*>& parameter) {
    return std::string(info(parameter.param->kind).name) + "_" + std::string(parameter.param->name);
}

// Elements of the longer side, where `block` is those of one rank's part, or of all.
std::size_t bytes_for(OpKind kind, int ranks, std::size_t block, Dtype dtype) {
    const Shape shape = info(kind).shape;
    const auto parts = shape == Shape::same ? std::size_t{1} : static_cast<std::size_t>(ranks);
    return block * parts * size_of(dtype);
}

class SimulatedData : public testing::TestWithParam<const Algorithm*> {
protected:
    static void expect_right(int ranks, int hosts, std::size_t block) {
        const Algorithm& algorithm = *GetParam();
        if (!obstacle_to_simulation(algorithm, ranks, hosts).empty()) return;
        for (const auto& [dtype, in_place] : forms) {
            const SimulationResult result = simulate({
                .algorithm = &algorithm,
                .dtype = dtype,
                .ranks = ranks,
                .hosts = hosts,
                .bytes = bytes_for(algorithm.kind, ranks, block, dtype),
                .real = true,
                .in_place = in_place,
            });
            EXPECT_EQ(result.wrong, "") << ranks << " ranks on " << hosts << " hosts, " << block
                                        << " " << name(dtype) << (in_place ? ", in place" : "");
        }
    }
};

TEST_P(SimulatedData, IsRightForAnyNumberOfRanks) {
    for (int ranks = 1; ranks <= most_ranks; ++ranks)
        for (const std::size_t block : {0, 1, 7, 64, 1001}) expect_right(ranks, 1, block);
    for (const int ranks : many_ranks)
        for (const std::size_t block : {1, 131}) expect_right(ranks, 1, block);
}

TEST_P(SimulatedData, IsRightOnSeveralHosts) {
    for (const int ranks : {3, 4, 7, 16, 33})
        for (const int hosts : {2, 3, 5})
            for (const std::size_t block : {1, 37, 2503}) expect_right(ranks, hosts, block);
}

// Beyond what travels with its envelope, and beyond one piece of an accepted payload.
TEST_P(SimulatedData, IsRightForLongMessages) {
    for (const int ranks : {2, 3, 6}) {
        expect_right(ranks, 1, 9000);
        expect_right(ranks, 2, 70'001);
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, SimulatedData, testing::ValuesIn(rows_to_run()), name_of);

}  // namespace
}  // namespace trireme
