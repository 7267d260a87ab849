#include "reduce/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "reduce/elements.h"

namespace trireme {
namespace {

using Kind = ReduceOp::Kind;

/// The reference: the promises of kernel.h, one element at a time.
template <class T>
T expected(Kind op, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
        T result{};
        switch (op) {
            case Kind::sum:
            case Kind::avg:
            case Kind::premul_sum: result = a + b; break;
            case Kind::prod: result = a * b; break;
            case Kind::min:
                result = std::fmin(a, b);
                if (a == b) result = std::signbit(a) ? a : b;  // fmin may return either zero
                break;
            case Kind::max:
                result = std::fmax(a, b);
                if (a == b) result = std::signbit(a) ? b : a;
                break;
            default: ADD_FAILURE() << name(op);
        }
        return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
    } else {
        __extension__ using Wide = __int128;  // holds every sum and product exactly
        const Wide x = a;
        const Wide y = b;
        switch (op) {
            case Kind::sum: return static_cast<T>(x + y);
            case Kind::prod: return static_cast<T>(x * y);
            case Kind::min: return x < y ? a : b;
            case Kind::max: return x > y ? a : b;
            case Kind::band: return static_cast<T>(x & y);
            case Kind::bor: return static_cast<T>(x | y);
            case Kind::bxor: return static_cast<T>(x ^ y);
            case Kind::land: return x != 0 && y != 0 ? T{1} : T{0};
            case Kind::lor: return x != 0 || y != 0 ? T{1} : T{0};
            case Kind::lxor: return (x != 0) + (y != 0) == 1 ? T{1} : T{0};
            default: ADD_FAILURE() << name(op);
        }
        return T{};
    }
}

constexpr std::array float_ops{Kind::sum, Kind::prod, Kind::min,
                               Kind::max, Kind::avg,  Kind::premul_sum};
constexpr std::array integer_ops{Kind::sum, Kind::prod, Kind::min,  Kind::max, Kind::band,
                                 Kind::bor, Kind::bxor, Kind::land, Kind::lor, Kind::lxor};

template <class T>
class ReduceKernelTest : public testing::Test {};

using KernelTypes =
    testing::Types<double, float, std::int64_t, std::int32_t, std::int16_t, std::int8_t,
                   std::uint64_t, std::uint32_t, std::uint16_t, std::uint8_t>;
TYPED_TEST_SUITE(ReduceKernelTest, KernelTypes);

TYPED_TEST(ReduceKernelTest, matches_the_definition_for_every_size_and_alignment_and_either_order) {
    using T = TypeParam;
    const auto check_op = [](Kind op) {
        SCOPED_TRACE(std::string(name(op)));
        const Operands<T> operands = make_operands<T>(
            special_values<T>(), &random_value<T>, [op](T a, T b) { return expected(op, a, b); });
        on_every_target([&] { check_kernel(find_kernel(dtype_of<T>, op), operands); });
    };
    if constexpr (std::is_floating_point_v<T>) {
        for (const Kind op : float_ops) check_op(op);
    } else {
        for (const Kind op : integer_ops) check_op(op);
    }
}

TEST(ReduceKernel, wraps_integers_around) {
    const auto sum_of = []<class T>(T a, T b) {
        T out{};
        find_kernel(dtype_of<T>, Kind::sum)(reinterpret_cast<const std::byte*>(&a),
                                            reinterpret_cast<const std::byte*>(&b),
                                            reinterpret_cast<std::byte*>(&out), 1);
        return out;
    };
    EXPECT_EQ(sum_of(std::uint8_t{200}, std::uint8_t{100}), 44);
    EXPECT_EQ(sum_of(std::int8_t{120}, std::int8_t{100}), -36);
    EXPECT_EQ(sum_of(std::numeric_limits<std::int64_t>::max(), std::int64_t{1}),
              std::numeric_limits<std::int64_t>::min());
}

/// The byte of a boolean, which a bool could not hold if it is neither 0 nor 1.
using RawBool = std::uint8_t;

TEST(ReduceKernel, takes_any_byte_for_a_boolean_and_gives_0_or_1) {
    const std::vector<RawBool> special{0, 1, 2, 128, 255};
    const auto any = [](std::mt19937_64& random) -> RawBool {
        return random() % 2 == 0 ? RawBool{0} : static_cast<RawBool>(random());
    };
    for (const Kind op : integer_ops) {
        SCOPED_TRACE(std::string(name(op)));
        const auto reference = [op](RawBool a, RawBool b) {
            const bool x = a != 0;
            const bool y = b != 0;
            switch (op) {
                case Kind::sum:
                case Kind::max:
                case Kind::bor:
                case Kind::lor: return static_cast<RawBool>(x || y);
                case Kind::bxor:
                case Kind::lxor: return static_cast<RawBool>(x != y);
                default: return static_cast<RawBool>(x && y);
            }
        };
        const Operands<RawBool> operands = make_operands<RawBool>(special, +any, reference);
        on_every_target([&] { check_kernel(find_kernel(Dtype::boolean, op), operands); });
    }
}

TEST(FindKernel, has_a_kernel_where_the_pair_has_a_meaning_and_for_nothing_else) {
    struct Row {
        std::vector<Dtype> dtypes;
        std::vector<Kind> ops;
    };
    const std::vector<Kind> of_floats(float_ops.begin(), float_ops.end());
    const std::vector<Kind> of_integers(integer_ops.begin(), integer_ops.end());
    const std::vector<Row> rows{
        {{Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16}, of_floats},
        {{Dtype::int64, Dtype::int32, Dtype::int16, Dtype::int8, Dtype::uint64, Dtype::uint32,
          Dtype::uint16, Dtype::uint8, Dtype::boolean},
         of_integers},
        {{Dtype::complex128, Dtype::complex64}, {Kind::sum, Kind::prod, Kind::avg}},
        {{Dtype::located_float64, Dtype::located_float32, Dtype::located_int64,
          Dtype::located_int32},
         {Kind::min, Kind::max}},
        {{Dtype::float8_e4m3, Dtype::float8_e5m2}, {}},
    };
    std::size_t dtypes = 0;
    for (const Row& row : rows) {
        for (const Dtype dtype : row.dtypes) {
            ++dtypes;
            for (std::size_t i = 0; i + 1 < reduce_op_kinds; ++i) {
                const auto op = static_cast<Kind>(i);
                const bool wanted = std::ranges::count(row.ops, op) > 0;
                const bool narrow = dtype == Dtype::float16 || dtype == Dtype::bfloat16;
                EXPECT_EQ(reducible(dtype, op), wanted) << name(dtype) << ' ' << name(op);
                EXPECT_EQ(find_kernel(dtype, op) != nullptr, wanted && !narrow)
                    << name(dtype) << ' ' << name(op);
            }
            EXPECT_EQ(reducible(dtype, Kind::user), !row.ops.empty()) << name(dtype);
            EXPECT_EQ(find_kernel(dtype, Kind::user), nullptr) << name(dtype);
        }
    }
    EXPECT_EQ(dtypes, dtype_count) << "a dtype is missing in this test";
}

TEST(FindKernel, refuses_numbers_that_are_no_dtype_and_no_op) {
    EXPECT_EQ(find_kernel(static_cast<Dtype>(dtype_count), Kind::sum), nullptr);
    EXPECT_EQ(find_kernel(Dtype::float32, static_cast<Kind>(reduce_op_kinds)), nullptr);
    EXPECT_FALSE(reducible(static_cast<Dtype>(255), Kind::user));
}

TEST(FindKernel, names_the_instruction_set_that_a_test_forces) {
    EXPECT_FALSE(kernel_target().empty());
#if HWY_ARCH_X86
    if ((hwy::SupportedTargets() & HWY_AVX2) == 0) GTEST_SKIP() << "this processor has no AVX2";
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    EXPECT_EQ(kernel_target(), "AVX2");
    hwy::SetSupportedTargetsForTest(0);
#endif
}

}  // namespace
}  // namespace trireme
