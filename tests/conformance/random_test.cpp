// Cells by chance on worlds of all sizes, and programs by chance on groups that overlap.
//
// TRIREME_TEST_SEED repeats a run. TRIREME_TEST_CELLS and TRIREME_TEST_SECONDS ask for longer ones.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "conformance/program.h"
#include "conformance/script.h"

namespace trireme::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The seed of this run, printed so that it can be had again.
std::uint64_t seed() {
    static const std::uint64_t value = number_from("TRIREME_TEST_SEED", std::random_device{}());
    std::cout << "TRIREME_TEST_SEED=" << value << std::endl;
    return value;
}

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
    return from[random() % from.size()];
}

// Mostly small ones, which are many more for the time; some at the edges where links and algorithms
// change their ways; few large ones.
std::size_t random_count(Random& random, std::size_t width) {
    const std::size_t edges[] = {8 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10};
    const std::uint64_t choice = random() % 100;
    if (choice < 50) return random() % 20;
    if (choice < 80) return random() % 1200;
    if (choice < 95 || sanitized) return edges[random() % 2] / width + random() % 3 - 1;
    return edges[2 + random() % 3] / width + random() % 3 - 1;
}

Cell random_cell(Random& random, int ranks) {
    static const std::vector<OpKind> kinds = all_kinds();
    static const std::vector<Reduction> reductions = all_reductions();
    Cell cell{.kind = pick(random, kinds),
              .dtype = static_cast<Dtype>(random() % dtype_count),
              .reduction = pick(random, reductions),
              .mode = static_cast<Mode>(random() % 3),
              .parts = static_cast<Parts>(random() % 3),
              .uneven = random() % 2 == 0,
              .in_place = random() % 2 == 0,
              .root = static_cast<int>(random() % static_cast<unsigned>(ranks)),
              .seed = random()};
    cell.count = random_count(random, size_of(cell.dtype));
    if (has_parts(cell.kind)) cell.count = (cell.count + 1) / static_cast<unsigned>(ranks);
    if (!is_for(cell.dtype, cell.reduction.own)) cell.reduction.own = Own::last;
    // Mostly pairs that have a meaning.
    while (cell.reduces() && !has_meaning(cell.dtype, cell.reduction) && random() % 8 != 0)
        cell.dtype = static_cast<Dtype>(random() % dtype_count);
    // NaN and infinities pass through sums, too.
    const bool is_sum = cell.reduction.kind == ReduceOp::Kind::sum;
    if (class_of(cell.dtype) == DtypeClass::floating && is_sum && random() % 4 == 0)
        cell.flavour = Flavour::extreme;
    return cell;
}

Stage random_stage(Random& random, int ranks) {
    Stage stage{.ranks = ranks,
                .transport = random() % 2 == 0 ? Transport::shm : Transport::tcp,
                .forced = {},
                .reproducible = random() % 4 == 0};
    // A row of each operation or none; of those that cannot run here, some: they must say so. Not
    // of the barrier, by which the script itself keeps the ranks together.
    for (const OpKind kind : all_kinds()) {
        std::vector<const Algorithm*> rows{nullptr};
        for (const Algorithm& row : algorithms()) {
            const bool script_needs_it = kind == OpKind::barrier &&
                                         stage.transport == Transport::tcp &&
                                         (row.traits & needs_memory) != 0;
            if (row.kind == kind && (row.traits & needs_hosts) == 0 && !script_needs_it)
                rows.push_back(&row);
        }
        const Algorithm* row = pick(random, rows);
        if (row != nullptr) stage.forced.push_back(row);
    }
    return stage;
}

TEST(RandomCells, GiveTheReferencesValues) {
    Random random(seed());
    const std::size_t wanted = number_from("TRIREME_TEST_CELLS", 20'000);
    // Under a sanitizer as many as there is time for.
    const auto end =
        sanitized ? Clock::now() + std::chrono::seconds(2 * number_from("TRIREME_TEST_SECONDS", 10))
                  : Clock::time_point::max();
    constexpr std::size_t per_world = 400;
    std::size_t played = 0;
    for (int turn = 0; played < wanted && Clock::now() < end && !HasFailure(); ++turn) {
        // All sizes in turn, the large ones first.
        const int ranks = 9 - turn % 9;
        const Stage stage = random_stage(random, ranks);
        // Cells depend on the seed alone, not on how far a world came.
        Random cells(random());
        played += run_script(stage, [&](std::size_t number) -> std::optional<Cell> {
            const bool stops = number >= per_world || played + number >= wanted;
            if (stops || Clock::now() > end) return std::nullopt;
            return random_cell(cells, ranks);
        });
    }
    std::cout << played << " cells" << std::endl;
    EXPECT_GT(played, 0U);
    if (HasFailure()) ADD_FAILURE() << "TRIREME_TEST_SEED=" << seed();
}

TEST(RandomPrograms, EndAndGiveTheReferencesValues) {
    Random random(seed());
    const auto seconds = number_from("TRIREME_TEST_SECONDS", 10);
    const auto end = Clock::now() + std::chrono::seconds(seconds);
    std::size_t steps = 0;
    for (int turn = 0; Clock::now() < end && !HasFailure(); ++turn) {
        const Transport transport = turn % 2 == 0 ? Transport::automatic : Transport::tcp;
        steps += run_program(transport, random(), end, [](Random& chance, int ranks) {
            Cell cell = random_cell(chance, ranks);
            while (cell.reduces() && !has_meaning(cell.dtype, cell.reduction))
                cell.dtype = static_cast<Dtype>(chance() % dtype_count);
            return sensible(cell, ranks);
        });
    }
    std::cout << steps << " steps" << std::endl;
    if (HasFailure()) ADD_FAILURE() << "TRIREME_TEST_SEED=" << seed();
}

}  // namespace
}  // namespace trireme::conformance
