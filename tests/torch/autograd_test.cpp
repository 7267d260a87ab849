// The autograd functions against the same computation on one process.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "on_ranks.h"
#include "trireme/autograd.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {
namespace {

void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
    EXPECT_TRUE(at::allclose(actual, expected)) << "actual " << actual << "\nexpected " << expected;
}

at::Tensor leaf(const at::Tensor& tensor) { return tensor.detach().clone().requires_grad_(); }

/// Doubles that every rank finds alike.
at::Tensor random(at::IntArrayRef sizes, std::uint64_t seed) {
    return at::randn(sizes, at::make_generator<at::CPUGeneratorImpl>(seed), at::kDouble);
}

TEST(Autograd, CopyForwardIsThePlainValueAndBackwardTheSum) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor x = leaf(random({2, 3}, 1));
        const at::Tensor y = copy_to_parallel_region(x, group);
        EXPECT_TRUE(at::equal(y, x));
        (y * (group.rank() + 1)).sum().backward();
        expect_close(x.grad(), at::full({2, 3}, 6.0, at::kDouble));
    });
}

TEST(Autograd, ReduceForwardIsTheSumAndBackwardThePlainGradient) {
    on_ranks(3, [](const Group& group) {
        const at::Tensor x = leaf(random({3, 2}, 1) + group.rank());
        // A transposed input: its elements lie in another order than they travel in.
        const at::Tensor y = reduce_from_parallel_region(x.t(), group);
        expect_close(y, (3 * random({3, 2}, 1) + 3).t());
        (y * y).sum().backward();
        expect_close(x.grad(), 2 * y.t());
    });
}

TEST(Autograd, SplitPerceptronEqualsTheWholeOne) {
    const at::Tensor w1 = leaf(random({6, 4}, 1));
    const at::Tensor w2 = leaf(random({4, 6}, 2));
    const at::Tensor x = leaf(random({5, 4}, 3));
    const at::Tensor y = at::linear(at::gelu(at::linear(x, w1)), w2);
    (y * y).sum().backward();

    on_ranks(3, [&](const Group& group) {
        const at::Tensor rows =
            leaf(w1.detach().chunk(3, 0)[static_cast<std::size_t>(group.rank())]);
        const at::Tensor columns =
            leaf(w2.detach().chunk(3, 1)[static_cast<std::size_t>(group.rank())]);
        const at::Tensor in = leaf(x);
        const at::Tensor inside = at::gelu(at::linear(copy_to_parallel_region(in, group), rows));
        const at::Tensor out = reduce_from_parallel_region(at::linear(inside, columns), group);
        expect_close(out, y.detach());
        (out * out).sum().backward();
        expect_close(in.grad(), x.grad());
        expect_close(rows.grad(), w1.grad().chunk(3, 0)[static_cast<std::size_t>(group.rank())]);
        expect_close(columns.grad(), w2.grad().chunk(3, 1)[static_cast<std::size_t>(group.rank())]);
    });
}

TEST(Autograd, CanBeDifferentiatedTwice) {
    on_ranks(2, [](const Group& group) {
        const at::Tensor x = leaf(at::full({1}, 3.0, at::kDouble));
        const at::Tensor y =
            reduce_from_parallel_region(copy_to_parallel_region(x, group).pow(3), group);
        const at::Tensor first = torch::autograd::grad({y.sum()}, {x}, {}, true, true)[0];
        expect_close(first, at::full({1}, 2 * 27.0, at::kDouble));
        const at::Tensor second = torch::autograd::grad({first.sum()}, {x})[0];
        expect_close(second, at::full({1}, 2 * 18.0, at::kDouble));
    });
}

TEST(Autograd, UnderNoGradNothingIsRecorded) {
    on_ranks(2, [](const Group& group) {
        const torch::NoGradGuard no_grad;
        const at::Tensor x = at::ones({2}).requires_grad_();
        EXPECT_TRUE(copy_to_parallel_region(x, group).is_same(x));
        EXPECT_FALSE(reduce_from_parallel_region(x, group).requires_grad());
    });
}

TEST(Autograd, UnfitTensorsAreRefused) {
    on_ranks(1, [](const Group& group) {
        EXPECT_THROW((void)reduce_from_parallel_region(at::Tensor(), group), Error);
        EXPECT_THROW((void)copy_to_parallel_region(at::Tensor(), group), Error);
        EXPECT_THROW((void)reduce_from_parallel_region(at::eye(2).to_sparse(), group), Error);
        EXPECT_THROW((void)reduce_from_parallel_region(at::empty({2}, at::kMeta), group), Error);
    });
}

}  // namespace
}  // namespace trireme
