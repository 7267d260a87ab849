// Sums of 16-bit floats: rounded once, to nearest even, and the same bits on all ranks.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tensors.h"

namespace trireme {
namespace {

/// All finite numbers of a 16-bit type in turn, another one on each rank.
at::Tensor every_number(at::ScalarType type, std::int64_t size, int rank) {
    const at::Tensor bits = (at::arange(size, at::kLong) * (rank == 0 ? 1 : 40503) + rank * 9973)
                                .remainder(65536)
                                .sub(32768)
                                .to(at::kShort);
    return bits.view(type).nan_to_num(1.0, 2.0, -2.0);
}

/// What two numbers add up to: doubles hold the sum exactly, or nearly so.
at::Tensor rounded_sum(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) + b.to(at::kDouble)).to(a.scalar_type());
}

TEST(Cases, C07_HalvesRoundToNearestEven) {
    on_ranks(2, [](const Group& group) {
        const double tiny = std::ldexp(1.0, -24);
        const at::Tensor halves =
            at::tensor(group.rank() == 0 ? std::vector<double>{65504, 65504, tiny, -65504}
                                         : std::vector<double>{15, 16, tiny, -16})
                .to(at::kHalf);
        group.all_reduce(halves);
        const double infinity = std::numeric_limits<double>::infinity();
        EXPECT_TENSOR(halves.to(at::kDouble), at::tensor({65504.0, infinity, 2 * tiny, -infinity}));
        EXPECT_TRUE(same_bits_everywhere(group, halves));
    });
}

TEST(Cases, C07_HalvesOfEverySize) {
    on_ranks(2, [](const Group& group) {
        for (const at::ScalarType type : {at::kHalf, at::kBFloat16})
            // A prime step meets every remainder of a vector's length.
            for (std::int64_t size = 1; size <= 4099; size += size < 67 ? 1 : 37) {
                const at::Tensor expected =
                    rounded_sum(every_number(type, size, 0), every_number(type, size, 1));
                const at::Tensor x = every_number(type, size, group.rank());
                const at::Tensor at_root = x.clone();
                const at::Tensor column = at::zeros({size, 2}, type).select(1, 0);
                column.copy_(x);
                group.all_reduce(x);
                ASSERT_TRUE(at::equal(bytes_of(x), bytes_of(expected))) << size;
                group.all_reduce(column);
                ASSERT_TRUE(at::equal(bytes_of(column), bytes_of(expected))) << size;
                group.reduce(at_root, Root{1});
                if (group.rank() == 1) {
                    ASSERT_TRUE(at::equal(bytes_of(at_root), bytes_of(expected))) << size;
                }
            }
        const at::Tensor last = every_number(at::kHalf, 4099, group.rank());
        group.all_reduce(last);
        EXPECT_TENSOR(
            last, rounded_sum(every_number(at::kHalf, 4099, 0), every_number(at::kHalf, 4099, 1)));
    });
}

void check_large(std::int64_t size) {
    on_ranks(2, [size](const Group& group) {
        for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
            const at::Tensor x = every_number(type, size, group.rank());
            group.all_reduce(x);
            EXPECT_TRUE(at::equal(bytes_of(x), bytes_of(rounded_sum(every_number(type, size, 0),
                                                                    every_number(type, size, 1)))));
        }
    });
}

TEST(Cases, C07_ManyHalves) { check_large(300'007); }

TEST(Cases, C07_MillionsOfHalves) {
    const char* large = std::getenv("TRIREME_TEST_LARGE");
    if (large == nullptr || std::string_view(large) != "1")
        GTEST_SKIP() << "needs several GB; asked for by TRIREME_TEST_LARGE=1";
    check_large(24'000'000);
}

// Adding up in bfloat16 would leave 256: each 1 is half of its last place, and ties go to even.
// Partial sums are float32, whoever adds them up.
TEST(Cases, C07_SumsOfMoreRanksAreRoundedOnce) {
    on_ranks(4, [](const Group& group) {
        for (const std::int64_t size : {1, 17, 5000, 20'011})
            for (int large = 0; large < 4; ++large) {
                const double own = group.rank() == large ? 256 : 1;
                // 256 + 3 rounds to 260: bfloat16 has every other number between 256 and 512.
                const at::Tensor x = at::full({size}, own, at::kBFloat16);
                const at::Tensor at_root = x.clone();
                const at::Tensor part = at::zeros({size}, at::kBFloat16);
                const at::Tensor up_to_here = x.clone();
                group.reduce_scatter(x.repeat({4}), part);
                group.all_reduce(x);
                group.reduce(at_root, Root{3});
                group.scan(up_to_here);
                EXPECT_TRUE(x.eq(260).all().item<bool>()) << x[0];
                EXPECT_TRUE(part.eq(260).all().item<bool>()) << part[0];
                EXPECT_TRUE(at_root.eq(group.rank() == 3 ? 260 : own).all().item<bool>());
                if (group.rank() == 3) {
                    EXPECT_TRUE(up_to_here.eq(260).all().item<bool>());
                }
                EXPECT_TRUE(same_bits_everywhere(group, x));

                // 2048 is where float16 has lost the odd numbers.
                const at::Tensor halves =
                    at::full({size}, group.rank() == large ? 2048 : 1, at::kHalf);
                group.all_reduce(halves);
                EXPECT_TRUE(halves.eq(2052).all().item<bool>()) << halves[0];
            }
    });
}

}  // namespace
}  // namespace trireme
