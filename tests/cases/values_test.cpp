// What reductions of booleans, bytes, complex numbers and NaN give.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <limits>
#include <string>

#include "support/expect_error.h"
#include "tensors.h"
#include "trireme/error.h"

namespace trireme {
namespace {

TEST(Cases, C05_BooleansStayZeroOrOne) {
    on_ranks(3, [](const Group& group) {
        // Element i is true on rank r where bit r of i is set: all eight combinations, many times,
        // so that vectors and what is left over are both met.
        for (const std::int64_t size : {1, 8, 67, 4099, 70'003}) {
            const at::Tensor index = at::arange(size, at::kLong);
            const auto bit = [&](int rank) { return index.div(1 << rank, "floor").remainder(2); };
            const at::Tensor in = bit(group.rank()).to(at::kBool);
            const at::Tensor any = index.remainder(8).ne(0);
            const at::Tensor every = index.remainder(8).eq(7);
            const at::Tensor odd = (bit(0) + bit(1) + bit(2)).remainder(2).eq(1);
            const std::pair<ReduceOp, at::Tensor> cases[] = {
                {sum, any},   {max, any},    {bor, any},    {lor, any},  {prod, every},
                {min, every}, {band, every}, {land, every}, {bxor, odd}, {lxor, odd}};
            for (const auto& [op, expected] : cases) {
                SCOPED_TRACE(std::string(name(op)) + " of " + std::to_string(size));
                const at::Tensor out = at::empty_like(in);
                group.all_reduce(in, out, op);
                EXPECT_TRUE(at::equal(bytes_of(out), expected.to(at::kByte)));
                EXPECT_TRUE(same_bits_everywhere(group, out));
                const at::Tensor at_root = in.clone();
                group.reduce(at_root, Root{1}, op);
                EXPECT_TRUE(at::equal(at_root, group.rank() == 1 ? expected : in));
            }
        }
        test::expect_invalid([&] { group.all_reduce(at::ones({2}, at::kBool), avg); },
                             {"avg", "boolean"});
    });
}

TEST(Cases, C05_BytesWrapAround) {
    on_ranks(2, [](const Group& group) {
        for (const std::int64_t size : {1, 31, 4099}) {
            const at::Tensor bytes = at::full({size}, group.rank() == 0 ? 200 : 100, at::kByte);
            group.all_reduce(bytes);
            EXPECT_TRUE(bytes.eq(44).all().item<bool>());
            const at::Tensor chars = at::full({size}, group.rank() == 0 ? 120 : 100, at::kChar);
            group.all_reduce(chars);
            EXPECT_TRUE(chars.eq(-36).all().item<bool>());
            EXPECT_TRUE(same_bits_everywhere(group, chars));
            const at::Tensor product = at::full({size}, group.rank() == 0 ? 100 : -3, at::kChar);
            group.all_reduce(product, prod);
            EXPECT_TRUE(product.eq(-44).all().item<bool>());
        }
    });
}

TEST(Cases, C06_ComplexSumsAndGathers) {
    on_ranks(2, [](const Group& group) {
        for (const at::ScalarType type : {at::kComplexFloat, at::kComplexDouble}) {
            const double own = group.rank() + 1;
            const at::Tensor x = at::full({5}, c10::complex<double>(own, own), type);
            Tensors list{at::zeros_like(x), at::zeros_like(x)};
            group.all_gather(x, list);
            for (int rank = 0; rank < 2; ++rank)
                EXPECT_TENSOR(list[static_cast<std::size_t>(rank)],
                              at::full_like(x, c10::complex<double>(rank + 1, rank + 1)));
            group.all_reduce(x);
            EXPECT_TENSOR(x, at::full_like(x, c10::complex<double>(3, 3)));
            // (3 + 3i)^2 = 18i.
            group.all_reduce(x, prod);
            EXPECT_TENSOR(x, at::full_like(x, c10::complex<double>(0, 18)));
            EXPECT_TRUE(same_bits_everywhere(group, x));
        }
    });
}

TEST(Cases, C06_ComplexNumbersHaveNoOrderAndNoBits) {
    on_ranks(2, [](const Group& group) {
        for (const at::ScalarType type : {at::kComplexFloat, at::kComplexDouble})
            for (const ReduceOp op : {min, max, band, bor, bxor, land, lor, lxor}) {
                const at::Tensor x = at::ones({4}, type);
                const at::Tensor out = at::zeros({4}, type);
                const at::Tensor half = at::zeros({2}, type);
                Tensors list{half.clone(), half.clone()};
                const at::Tensor column = at::ones({4, 2}, type).select(1, 0);
                const auto refused = [&](const std::function<void()>& call) {
                    test::expect_invalid(call, {std::string(name(op)), "complex"});
                };
                refused([&] { group.all_reduce(x, op); });
                refused([&] { group.all_reduce(column, op); });
                refused([&] { group.all_reduce(x, out, op); });
                refused([&] { group.all_reduce_async(x, op).wait(); });
                refused([&] { group.all_reduce_async(x, out, op).wait(); });
                refused([&] { (void)group.prepare_all_reduce(x, op); });
                refused([&] { (void)group.prepare_all_reduce(x, out, op); });
                refused([&] { group.reduce(x, Root{0}, op); });
                refused([&] { group.reduce_async(x, Root{0}, op).wait(); });
                refused([&] { (void)group.prepare_reduce(x, Root{0}, op); });
                refused([&] { group.reduce_scatter(x, half, op); });
                refused([&] { group.reduce_scatter(list, half, op); });
                refused([&] { group.reduce_scatter_async(x, half, op).wait(); });
                refused([&] { (void)group.prepare_reduce_scatter(x, half, op); });
                refused([&] { group.scan(x, op); });
                refused([&] { group.scan(x, out, op); });
                refused([&] { group.scan_async(x, op).wait(); });
                refused([&] { group.exclusive_scan(x, op); });
                refused([&] { group.exclusive_scan(x, out, op); });
                refused([&] { group.exclusive_scan_async(x, op).wait(); });
                EXPECT_TENSOR(x, at::ones({4}, type));
                group.all_reduce(x);  // nothing was sent, and the group goes on
                EXPECT_TENSOR(x, at::full({4}, 2, x.options()));
            }
    });
}

/// Min and max of 1, 2, ... where one rank has NaN instead, in every form.
void check_nan(const Group& group, at::ScalarType type, std::int64_t size, int holder) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto value = [&](int rank) { return rank == holder ? nan : rank + 1.0; };
    const at::Tensor in = at::full({size}, value(group.rank()), type);
    const auto all_nan = [](const at::Tensor& x) { return x.isnan().all().item<bool>(); };
    for (const ReduceOp op : {min, max}) {
        SCOPED_TRACE(std::string(name(op)) + " of " + std::to_string(size) + " " +
                     c10::toString(type) + ", NaN on rank " + std::to_string(holder));
        const at::Tensor out = at::empty_like(in);
        group.all_reduce(in, out, op);
        EXPECT_TRUE(all_nan(out)) << out.flatten()[0];
        EXPECT_TRUE(same_bits_everywhere(group, out));

        const at::Tensor at_root = in.clone();
        group.reduce(at_root, Root{2}, op);
        EXPECT_EQ(all_nan(at_root), group.rank() == 2 || group.rank() == holder);

        const at::Tensor part = at::empty_like(in);
        group.reduce_scatter(in.repeat({group.size()}), part, op);
        EXPECT_TRUE(all_nan(part));

        // Of the ranks up to this one the holder is one, or is not yet.
        group.scan(in, out, op);
        EXPECT_EQ(all_nan(out), group.rank() >= holder);
        if (group.rank() < holder) {
            EXPECT_TRUE(out.eq(op == min ? 1 : group.rank() + 1).all().item<bool>());
        }
    }
}

TEST(Cases, C08_NanWinsWhereverItIs) {
    on_ranks(4, [](const Group& group) {
        for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16})
            for (const std::int64_t size : {1, 7, 1000, 20'011})
                for (int holder = 0; holder < group.size(); ++holder)
                    check_nan(group, type, size, holder);
    });
}

// One element of many: its neighbours in the vector are not touched.
TEST(Cases, C08_NanStaysInItsElement) {
    on_ranks(4, [](const Group& group) {
        const at::Tensor nans = at::arange(4099).remainder(5).eq(group.rank());
        for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16})
            for (const ReduceOp op : {min, max}) {
                const at::Tensor x = at::full({4099}, group.rank() + 1, type);
                x.masked_fill_(nans, std::numeric_limits<double>::quiet_NaN());
                group.all_reduce(x, op);
                const at::Tensor expected = at::arange(4099).remainder(5).lt(4);
                EXPECT_TENSOR(x.isnan(), expected);
                EXPECT_TRUE(x.masked_select(expected.logical_not())
                                .eq(op == min ? 1 : 4)
                                .all()
                                .item<bool>());
            }
    });
}

}  // namespace
}  // namespace trireme
