// Every cell there is: each operation with every dtype and reduction, by every algorithm, in every
// form, on 1 to 9 ranks over both transports. More than a million of them, which take minutes:
// only where TRIREME_TEST_LARGE asks for it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/rows.h"
#include "conformance/script.h"

namespace trireme::conformance {
namespace {

// The cells of the rows of a stage, counted through without being kept.
class Cells {
public:
    explicit Cells(const Stage& stage) {
        for (const Algorithm* row : stage.forced) {
            // A receive belongs to its send; and what cannot run here, runs as something else.
            if (!has_cells(row->kind) || stage.row_for({.kind = row->kind}) == nullptr) continue;
            rows_.push_back({row->kind, all_reductions_of(row->kind), 0});
            rows_.back().cells = dtype_count * rows_.back().reductions.size() * modes *
                                 (has_parts(row->kind) ? part_forms : 1) * places(row->kind);
        }
    }

    [[nodiscard]] std::optional<Cell> at(std::size_t number) const {
        std::size_t left = number;
        for (const Row& row : rows_) {
            if (left < row.cells) return cell_of(row, left, number);
            left -= row.cells;
        }
        return std::nullopt;
    }

private:
    static constexpr std::size_t modes = 3;
    // Whole; and split or listed, with even and with uneven parts.
    static constexpr std::size_t part_forms = 5;
    struct Row {
        OpKind kind;
        std::vector<Reduction> reductions;
        std::size_t cells;
    };

    static std::vector<Reduction> all_reductions_of(OpKind kind) {
        return info(kind).reduces ? all_reductions() : std::vector<Reduction>{{}};
    }

    static std::size_t places(OpKind kind) {
        return can_be_in_place(kind) && !always_in_place(kind) ? 2 : 1;
    }

    static Cell cell_of(const Row& row, std::size_t index, std::size_t seed) {
        const auto next = [&](std::size_t choices) {
            const std::size_t choice = index % choices;
            index /= choices;
            return choice;
        };
        Cell cell{.kind = row.kind, .seed = seed};
        cell.in_place = next(places(row.kind)) == 1;
        cell.mode = static_cast<Mode>(next(modes));
        if (has_parts(row.kind)) {
            const std::size_t form = next(part_forms);
            cell.parts = static_cast<Parts>((form + 1) / 2);
            cell.uneven = form != 0 && form % 2 == 0;
        }
        cell.dtype = static_cast<Dtype>(next(dtype_count));
        cell.reduction = row.reductions[next(row.reductions.size())];
        if (!is_for(cell.dtype, cell.reduction.own)) cell.reduction.own = Own::last;
        // Neither this number of counts nor of roots divides one of the choices above.
        constexpr std::size_t counts[] = {1, 7, 0, 33, 2, 130, 18};
        cell.count = counts[seed % std::size(counts)];
        cell.root = static_cast<int>(seed % 11);
        return cell;
    }

    std::vector<Row> rows_;
};

class Everything : public testing::TestWithParam<StageParameters> {};

TEST_P(Everything, GivesTheReferencesValues) {
    if (std::getenv("TRIREME_TEST_LARGE") == nullptr)
        GTEST_SKIP() << "takes minutes: `make test-large`";
    const auto [ranks, transport] = GetParam();
    std::size_t played = 0;
    for (std::size_t index = 0; !rows_of_index(transport, index).empty(); ++index) {
        const Stage stage{
            .ranks = ranks, .transport = transport, .forced = rows_of_index(transport, index)};
        const Cells cells(stage);
        played += run_script(stage, [&](std::size_t number) { return cells.at(number); });
    }
    std::cout << played << " cells" << std::endl;
}

INSTANTIATE_TEST_SUITE_P(All, Everything,
                         testing::Combine(testing::Range(1, most_ranks + 1),
                                          testing::Values(Transport::shm, Transport::tcp)),
                         stage_name);

}  // namespace
}  // namespace trireme::conformance
