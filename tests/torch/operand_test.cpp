// Tensors of every shape and stride as arguments of every operation. Elements have distinct values:
// equal ones would hide a wrong order.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cstring>

#include "on_ranks.h"
#include "trireme/torch.h"

namespace trireme {
namespace {

/// 0, 1, 2, ... plus `first`.
at::Tensor count_from(double first, at::IntArrayRef sizes) {
    return at::arange(c10::multiply_integers(sizes), at::kFloat).add(first).reshape(sizes);
}

/// A [rows] column of a [rows, 2] tensor whose other column is -1.
struct Column {
    explicit Column(std::int64_t rows)
        : whole(at::full({rows, 2}, -1.0F)), view(whole.select(1, 0)) {}
    [[nodiscard]] bool gaps_untouched() const {
        return whole.select(1, 1).eq(-1).all().item<bool>();
    }
    at::Tensor whole;
    at::Tensor view;
};

#define EXPECT_TENSOR(actual, expected) \
    EXPECT_TRUE(at::equal(actual, expected)) << "actual " << (actual) << "\nexpected " << (expected)

TEST(Operand, ContiguousTensorLendsItsOwnMemory) {
    const at::Tensor tensor = count_from(0, {2, 3});
    const Operand operand = make_operand(tensor, Access::update, Hold::call);
    EXPECT_EQ(static_cast<void*>(operand.buffer.data), tensor.data_ptr());
    EXPECT_EQ(operand.buffer.count, 6U);
    EXPECT_EQ(operand.buffer.dtype, Dtype::float32);
    EXPECT_EQ(operand.keeper, nullptr);
}

TEST(Operand, StartedOperationKeepsItsTensor) {
    at::Tensor tensor = count_from(0, {4});
    const auto users = tensor.use_count();
    const Operand operand = make_operand(tensor, Access::read, Hold::work);
    EXPECT_NE(operand.keeper, nullptr);
    EXPECT_FALSE(operand.borrowed);
    EXPECT_EQ(tensor.use_count(), users + 1);
}

TEST(Operand, MemoryThatTheTensorBorrowsIsBorrowed) {
    std::array<float, 4> memory{};
    EXPECT_TRUE(
        make_operand(torch::from_blob(memory.data(), {4}), Access::write, Hold::work).borrowed);
}

TEST(Operand, WriteOnlyTargetIsNotReadAndWrittenAtTheEnd) {
    const Column column(3);
    column.view.copy_(count_from(1, {3}));
    const Operand operand = make_operand(column.view, Access::write, Hold::call);
    ASSERT_EQ(operand.buffer.count, 3U);
    const std::array<float, 3> result{7, 8, 9};
    std::memcpy(operand.buffer.data, result.data(), sizeof(result));
    EXPECT_TENSOR(column.view, count_from(1, {3}));
    operand.finish();
    EXPECT_TENSOR(column.view, count_from(7, {3}));
    EXPECT_TRUE(column.gaps_untouched());
}

TEST(Operand, ReadOfExpandedTensorSendsEveryElement) {
    const at::Tensor expanded = count_from(0, {3, 1}).expand({3, 2});
    const Operand operand = make_operand(expanded, Access::read, Hold::call);
    EXPECT_TENSOR(torch::from_blob(operand.buffer.data, {3, 2}), expanded.contiguous());
}

TEST(Operand, LazilyNegatedTensorTravelsNegated) {
    const at::Tensor imaginary =
        at::imag(at::conj(at::complex(count_from(0, {3}), count_from(5, {3}))));
    ASSERT_TRUE(imaginary.is_neg());
    const Operand operand = make_operand(imaginary, Access::update, Hold::call);
    EXPECT_TENSOR(torch::from_blob(operand.buffer.data, {3}), -count_from(5, {3}));
    torch::from_blob(operand.buffer.data, {3}).fill_(4);
    operand.finish();
    EXPECT_TENSOR(imaginary, at::full({3}, 4.0F));
}

TEST(Operand, ReadOfLazyCopyLeavesItShared) {
    const at::Tensor tensor = count_from(0, {3});
    const at::Tensor lazy = at::_lazy_clone(tensor);
    EXPECT_EQ(static_cast<const void*>(make_operand(lazy, Access::read, Hold::call).buffer.data),
              tensor.const_data_ptr());
    const Operand written = make_operand(lazy, Access::update, Hold::call);
    EXPECT_NE(static_cast<const void*>(written.buffer.data), tensor.const_data_ptr());
}

TEST(Operand, InterleavedElementsThatDoNotCollideMayBeWritten) {
    // Offsets 0, 2, 4 and 3, 5, 7.
    const at::Tensor memory = at::full({8}, -1.0F);
    const at::Tensor view = memory.as_strided({2, 3}, {3, 2});
    const Operand operand = make_operand(view, Access::write, Hold::call);
    torch::from_blob(operand.buffer.data, {2, 3}).copy_(count_from(0, {2, 3}));
    operand.finish();
    EXPECT_TENSOR(view, count_from(0, {2, 3}));
    EXPECT_EQ(memory[1].item<float>(), -1);
}

TEST(Strided, AllReduce) {
    on_ranks(2, [](const Group& group) {
        const Column column(3);
        column.view.copy_(count_from(10 * group.rank(), {3}));
        group.all_reduce(column.view);
        EXPECT_TENSOR(column.view, count_from(0, {3}) * 2 + 10);
        EXPECT_TRUE(column.gaps_untouched());
    });
}

TEST(Strided, AllReduceFromTransposedToTransposed) {
    on_ranks(2, [](const Group& group) {
        const at::Tensor in = count_from(10 * group.rank(), {2, 3}).t();
        const at::Tensor out = at::zeros({2, 3}).t();
        group.all_reduce(in, out);
        EXPECT_TENSOR(out, (count_from(0, {2, 3}) * 2 + 10).t());
    });
}

TEST(Strided, BroadcastAndReduce) {
    on_ranks(2, [](const Group& group) {
        const Column column(3);
        column.view.copy_(count_from(10 * group.rank(), {3}));
        group.broadcast(column.view, Root{1});
        EXPECT_TENSOR(column.view, count_from(10, {3}));
        group.reduce(column.view, Root{0});
        EXPECT_TENSOR(column.view, count_from(10, {3}) * (group.rank() == 0 ? 2 : 1));
        EXPECT_TRUE(column.gaps_untouched());
    });
}

TEST(Strided, GatherScatterAndAllGather) {
    on_ranks(2, [](const Group& group) {
        const Column in(3);
        in.view.copy_(count_from(3 * group.rank(), {3}));
        const Column all(6);
        group.all_gather(in.view, all.view);
        EXPECT_TENSOR(all.view, count_from(0, {6}));
        EXPECT_TRUE(all.gaps_untouched());

        const Column part(3);
        group.scatter(all.view, part.view, Root{1});
        EXPECT_TENSOR(part.view, in.view);
        EXPECT_TRUE(part.gaps_untouched());

        // What is not the root's is not looked at, and so stays as it is.
        const Column gathered(6);
        gathered.view.copy_(count_from(50, {6}));
        group.gather(in.view, gathered.view, Root{0});
        EXPECT_TENSOR(gathered.view, count_from(group.rank() == 0 ? 0 : 50, {6}));
        group.gather_async(in.view, gathered.view, Root{1}).wait();
        EXPECT_TENSOR(gathered.view, count_from(0, {6}));
        EXPECT_TRUE(gathered.gaps_untouched());
        group.gather(in.view, group.rank() == 0 ? gathered.view : at::empty({0}), Root{0});
    });
}

TEST(Strided, ReduceScatterAndAllToAll) {
    on_ranks(2, [](const Group& group) {
        const Column in(4);
        in.view.copy_(count_from(10 * group.rank(), {4}));
        const Column part(2);
        group.reduce_scatter(in.view, part.view);
        EXPECT_TENSOR(part.view,
                      (count_from(0, {4}) * 2 + 10).slice(0, 2 * group.rank()).slice(0, 0, 2));
        EXPECT_TRUE(part.gaps_untouched());

        const Column swapped(4);
        group.all_to_all(in.view, swapped.view);
        const double first = 2 * group.rank();
        EXPECT_TENSOR(swapped.view, at::cat({count_from(first, {2}), count_from(first + 10, {2})}));
        EXPECT_TRUE(swapped.gaps_untouched());
    });
}

TEST(Strided, SendAndReceive) {
    on_ranks(2, [](const Group& group) {
        const Column column(3);
        if (group.rank() == 0) {
            column.view.copy_(count_from(5, {3}));
            group.send(column.view, Peer{1});
        } else {
            group.recv(column.view, Peer{0});
            EXPECT_TENSOR(column.view, count_from(5, {3}));
        }
        EXPECT_TRUE(column.gaps_untouched());
    });
}

TEST(Strided, StartedOperations) {
    on_ranks(2, [](const Group& group) {
        const Column column(3);
        column.view.copy_(count_from(10 * group.rank(), {3}));
        group.all_reduce_async(column.view).wait();
        EXPECT_TENSOR(column.view, count_from(0, {3}) * 2 + 10);

        const Column received(3);
        const Peer other{1 - group.rank()};
        Work receiving = group.recv_async(received.view, other);
        Work sending = group.send_async(column.view + group.rank(), other);
        sending.wait();
        receiving.wait();
        EXPECT_TENSOR(received.view, column.view + other.rank);
        EXPECT_TRUE(received.gaps_untouched());
    });
}

TEST(Shapes, NoDimensionAndNoElement) {
    on_ranks(4, [](const Group& group) {
        const at::Tensor scalar = at::scalar_tensor(group.rank(), at::kFloat);
        const at::Tensor all = at::empty({4});
        group.all_gather(scalar, all);
        EXPECT_TENSOR(all, count_from(0, {4}));
        group.all_reduce(scalar);
        EXPECT_EQ(scalar.item<float>(), 6);
        EXPECT_EQ(scalar.dim(), 0);

        for (const std::vector<std::int64_t>& sizes :
             {std::vector<std::int64_t>{0}, std::vector<std::int64_t>{1, 0, 2}}) {
            const at::Tensor empty = at::empty(sizes);
            group.all_reduce(empty);
            group.broadcast(empty, Root{2});
            group.all_gather(empty, at::empty({0}));
            EXPECT_EQ(empty.sizes().vec(), sizes);
        }
        const at::Tensor after = count_from(group.rank(), {2});
        group.all_reduce(after, max);
        EXPECT_TENSOR(after, count_from(3, {2}));
    });
}

TEST(Shapes, ChannelsLastMovesInRowMajorOrder) {
    on_ranks(2, [](const Group& group) {
        at::Tensor image = count_from(0, {1, 2, 3, 4});
        if (group.rank() == 1)
            image = at::zeros_like(image).contiguous(at::MemoryFormat::ChannelsLast);
        group.broadcast(image, Root{0});
        EXPECT_TENSOR(image, count_from(0, {1, 2, 3, 4}));
    });
}

// What is collected runs when the temporaries that it was given are gone.
TEST(TensorOperand, TemporariesInCoalesceAreKept) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        const float own = static_cast<float>(world.rank() + 1);
        const at::Tensor a = at::zeros({4});
        const at::Tensor b = at::zeros({2, 4}).select(0, 1);
        const at::Tensor c = at::zeros({2});
        group.coalesce([&] {
            group.all_gather(at::full({2}, own), a);
            group.all_gather(at::full({2, 2}, own).select(1, 0), b);
        });
        EXPECT_TRUE(at::equal(a, at::tensor({1.0F, 1.0F, 2.0F, 2.0F})));
        EXPECT_TRUE(at::equal(b, a));
        const at::Tensor x = at::full({2}, own);
        group.coalesce([&] {
            group.send(x + 10, Peer{1 - group.rank()});
            group.recv(c, Peer{1 - group.rank()});
        });
        EXPECT_TRUE(at::equal(c, at::full({2}, 13 - own)));
    });
}

}  // namespace
}  // namespace trireme
