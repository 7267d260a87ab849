// Tensors in memory that the ranks share.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "on_ranks.h"
#include "support/expect_error.h"
#include "trireme/torch.h"

namespace trireme {
namespace {

TEST(EmptyShared, IsATensorLikeAnyOther) {
    on_ranks(3, [](const Group& group) {
        at::Tensor x = empty_shared({300, 200}, torch::kFloat64, group);
        EXPECT_TRUE(at::equal(x, torch::zeros({300, 200}, torch::kFloat64)));
        x.fill_(group.rank() + 1);
        group.all_reduce(x);
        EXPECT_TRUE(at::equal(x, torch::full({300, 200}, 6, torch::kFloat64)));
        // A view of it, strided or not, will do as well.
        x.fill_(1);
        group.all_reduce(x.slice(0, 100, 200));
        group.all_reduce(x.select(1, 7));
        at::Tensor expected = torch::ones({300, 200}, torch::kFloat64);
        expected.slice(0, 100, 200).fill_(3);
        expected.select(1, 7).mul_(3);
        EXPECT_TRUE(at::equal(x, expected));
        EXPECT_TRUE(empty_shared({2}, at::TensorOptions(torch::kFloat32).requires_grad(true), group)
                        .requires_grad());
        EXPECT_EQ(empty_shared({0, 5}, torch::kInt64, group).numel(), 0);
    });
}

// The tensor keeps the memory, and a started operation the tensor.
TEST(EmptyShared, LivesAsLongAsItIsUsed) {
    on_ranks(2, [](const Group& group) {
        at::Tensor view;
        {
            const at::Tensor x = empty_shared({1 << 20}, torch::kFloat32, group);
            x.fill_(1);
            view = x.narrow(0, 5, 100'000);
        }
        Work work = group.all_reduce_async(view);
        view = at::Tensor();
        work.wait();
    });
}

TEST(EmptyShared, RefusesWhatCannotBeShared) {
    on_ranks(2, [](const Group& group) {
        test::expect_error(ErrorCode::unsupported, {"host memory"}, [&] {
            (void)empty_shared({2}, at::TensorOptions(torch::kFloat32).device(torch::kMeta), group);
        });
        test::expect_error(ErrorCode::unsupported, {},
                           [&] { (void)empty_shared({2}, torch::kQInt8, group); });
        test::expect_invalid([&] { (void)empty_shared({2, -1}, torch::kFloat32, group); },
                             {"negative"});
        test::expect_invalid(
            [&] { (void)empty_shared({10'000 * (group.rank() + 1)}, torch::kFloat32, group); },
            {"allocate on group", "rank 1 for "});
        // Nothing was sent, or all have thrown: the group goes on.
        group.barrier();
    });
}

}  // namespace
}  // namespace trireme
