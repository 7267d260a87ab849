// Every algorithm of the table, forced, on 1 to 9 ranks, on tensors that are strided, in place and
// not, and on tensors without dimensions.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "cases/tensors.h"
#include "conformance/rows.h"
#include "conformance/script.h"

namespace trireme::conformance {
namespace {

enum class Form : std::uint8_t { strided, strided_in_place, no_dimensions };

/// A tensor of a rank's part of a cell, or of all parts, with gaps that must stay as they are.
class Placing {
public:
    Placing(Dtype dtype, std::size_t count, bool no_dimensions) {
        const auto type = dtype == Dtype::int64 ? at::kLong : at::kFloat;
        const auto length = static_cast<std::int64_t>(count);
        memory_ = at::full({length, 2}, -1, at::dtype(type));
        view = memory_.select(1, 1);
        if (no_dimensions) view = view.select(0, 0);
    }
    void write(const Bytes& bytes) {
        std::byte* data = const_cast<std::byte*>(bytes.data());
        view.copy_(at::from_blob(data, view.sizes(), view.options()));
    }
    [[nodiscard]] Bytes contents() const {
        const at::Tensor bytes = bytes_of(view);
        const auto* data = reinterpret_cast<const std::byte*>(bytes.const_data_ptr<std::uint8_t>());
        return {data, data + bytes.numel()};
    }
    [[nodiscard]] bool gaps_untouched() const {
        return memory_.select(1, 0).eq(-1).all().item<bool>();
    }

    at::Tensor view;

private:
    at::Tensor memory_;
};

std::string play_on_tensors(const Group& group, const Cell& cell, Form form) {
    const auto rank = static_cast<std::size_t>(group.rank());
    const auto parts = static_cast<std::size_t>(group.size());
    const Round round = make_round(cell, group.size(), cell.seed);
    const Shape shape = info(cell.kind).shape;
    const bool one = form == Form::no_dimensions;
    const bool gathers = shape == Shape::gathered || shape == Shape::exchanged;
    const bool scatters = shape == Shape::scattered || shape == Shape::exchanged;
    Placing in(cell.dtype, cell.count * (scatters ? parts : 1), one && !scatters);
    Placing out(cell.dtype, cell.count * (gathers ? parts : 1), one && !gathers);
    const bool in_place = cell.in_place && shape == Shape::same;
    in.write(round.in[rank]);
    if (in_place) out.write(round.in[rank]);
    const Bytes before = out.contents();
    call(group, cell, in.view, out.view, in_place);
    if (out.contents() != round.out[rank].value_or(before)) return "wrong values";
    if (in.contents() != round.in[rank]) return "the input has changed";
    if (!in.gaps_untouched() || !out.gaps_untouched()) return "gaps were written to";
    return {};
}

class EveryAlgorithmOnTensors : public testing::TestWithParam<StageParameters> {};

TEST_P(EveryAlgorithmOnTensors, GivesTheSameValues) {
    const auto [ranks, transport] = GetParam();
    at::set_num_threads(1);
    for (std::size_t index = 0; !rows_of_index(transport, index).empty(); ++index) {
        const Stage stage{
            .ranks = ranks, .transport = transport, .forced = rows_of_index(transport, index)};
        run_ranks(
            ranks,
            [&](World& world) {
                for (const Algorithm* row : stage.forced) {
                    const bool no_data = info(row->kind).shape == Shape::none;
                    if (row->kind == OpKind::recv || no_data) continue;
                    for (const Dtype dtype : {Dtype::float32, Dtype::int64})
                        for (const Form form :
                             {Form::strided, Form::strided_in_place, Form::no_dimensions}) {
                            const Cell cell = sensible(
                                {.kind = row->kind,
                                 .dtype = dtype,
                                 .reduction = {ReduceOp::Kind::sum},
                                 .in_place = form == Form::strided_in_place,
                                 .root = static_cast<int>(index),
                                 .count = form == Form::no_dimensions ? std::size_t{1} : 37,
                                 .seed = index},
                                ranks);
                            EXPECT_EQ(play_on_tensors(world.group(), cell, form), "")
                                << describe(cell, ranks) << ", rank " << world.rank() << ", "
                                << stage.describe(cell);
                        }
                }
            },
            stage.options());
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryAlgorithmOnTensors,
                         testing::Combine(testing::Range(1, most_ranks + 1),
                                          testing::Values(Transport::shm, Transport::tcp)),
                         stage_name);

}  // namespace
}  // namespace trireme::conformance
