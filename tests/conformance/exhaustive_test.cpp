// Every operation with every dtype and reduction, those included that have no meaning, in each form
// that it has.

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/script.h"

namespace trireme::conformance {
namespace {

using Case = std::tuple<OpKind, int>;

class Exhaustive : public testing::TestWithParam<Case> {};

struct Form {
    Mode mode;
    Parts parts;
    bool uneven;
    bool in_place;
    std::size_t count;
};

constexpr Form forms[] = {
    {Mode::blocking, Parts::whole, false, false, 7},
    {Mode::blocking, Parts::whole, false, true, 1021},
    {Mode::blocking, Parts::split, true, true, 1},
    {Mode::blocking, Parts::split, true, false, 33},
    {Mode::started, Parts::list, false, false, 1},
    {Mode::started, Parts::list, true, true, 65},
    {Mode::prepared, Parts::whole, false, true, 7},
    {Mode::prepared, Parts::list, true, false, 18},
    {Mode::blocking, Parts::whole, false, false, 0},
    {Mode::started, Parts::whole, false, true, 0},
    {Mode::blocking, Parts::whole, false, false, 5000},
};

TEST_P(Exhaustive, EveryDtypeAndReduction) {
    const auto [kind, ranks] = GetParam();
    const std::vector<Reduction> reductions =
        info(kind).reduces ? all_reductions() : std::vector<Reduction>{{}};
    std::vector<Cell> cells;
    static_assert(std::size(forms) % 2 == 1);
    [[maybe_unused]] std::size_t turn = 0;
    for (std::size_t number = 0; number < dtype_count; ++number) {
        const auto dtype = static_cast<Dtype>(number);
        for (const Reduction reduction : reductions) {
            if (!is_for(dtype, reduction.own)) continue;
            for (const Form& form : forms) {
                // Every second one where time is short; of the next pair the others, for the forms
                // are an odd number.
                if (sanitized && ++turn % 2 == 0) continue;
                cells.push_back({.kind = kind,
                                 .dtype = dtype,
                                 .reduction = reduction,
                                 .mode = form.mode,
                                 .parts = form.parts,
                                 .uneven = form.uneven,
                                 .in_place = form.in_place,
                                 .root = static_cast<int>(cells.size()) % ranks,
                                 .count = form.count,
                                 .seed = cells.size()});
            }
        }
    }
    run_cells({.ranks = ranks}, cells);
}

std::string case_name(const testing::TestParamInfo<Case>& tested) {
    const auto [kind, ranks] = tested.param;
    return std::string(info(kind).name) + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(All, Exhaustive,
                         testing::Combine(testing::ValuesIn(all_kinds()), testing::Values(2, 3)),
                         case_name);

}  // namespace
}  // namespace trireme::conformance
