#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reduce/elements.h"
#include "reduce/kernel.h"

namespace trireme {
namespace {

using Kind = ReduceOp::Kind;

template <class T>
std::complex<T> with_the_one_nan(T real, T imag) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    return {std::isnan(real) ? nan : real, std::isnan(imag) ? nan : imag};
}

/// The reference; every product passes through memory, so that no compiler can fuse it.
template <class T>
std::complex<T> expected(Kind op, std::complex<T> a, std::complex<T> b) {
    if (op != Kind::prod) return with_the_one_nan(a.real() + b.real(), a.imag() + b.imag());
    volatile T rr = a.real() * b.real();
    volatile T ii = a.imag() * b.imag();
    volatile T ri = a.real() * b.imag();
    volatile T ir = a.imag() * b.real();
    return with_the_one_nan<T>(rr - ii, ri + ir);
}

template <class T>
std::complex<T> random_complex(std::mt19937_64& random) {
    const T real = random_value<T>(random);
    return {real, random_value<T>(random)};
}

/// Each special value as either part.
template <class T>
std::vector<std::complex<T>> special_complex() {
    std::vector<std::complex<T>> values{{T{1}, T{1}}};
    for (const T part : special_values<T>()) {
        values.emplace_back(part, T{-2});
        values.emplace_back(T{3}, part);
    }
    return values;
}

template <class T>
class ComplexKernelTest : public testing::Test {};
using Parts = testing::Types<double, float>;
TYPED_TEST_SUITE(ComplexKernelTest, Parts);

TYPED_TEST(ComplexKernelTest, matches_the_definition_for_every_size_and_alignment) {
    using Value = std::complex<TypeParam>;
    for (const Kind op : {Kind::sum, Kind::prod, Kind::avg}) {
        SCOPED_TRACE(std::string(name(op)));
        const Operands<Value> operands =
            make_operands<Value>(special_complex<TypeParam>(), &random_complex<TypeParam>,
                                 [op](Value a, Value b) { return expected(op, a, b); });
        on_every_target([&] { check_kernel(find_kernel(dtype_of<Value>, op), operands); });
    }
}

TYPED_TEST(ComplexKernelTest, fuses_no_product) {
    // (1 + e)^2 - (1 + 2e) is 0 when every product is rounded, and e^2 when the first is fused.
    using Value = std::complex<TypeParam>;
    const TypeParam e = std::sqrt(std::numeric_limits<TypeParam>::epsilon()) / 8;
    const Value a(1 + e, 1 + 2 * e);
    const Value b(1 + e, 1);
    const TypeParam square = a.real() * b.real();
    const std::vector<Value> as(9, a);
    const std::vector<Value> bs(9, b);
    std::vector<Value> out(9);
    on_every_target([&] {
        find_kernel(dtype_of<Value>, Kind::prod)(reinterpret_cast<const std::byte*>(as.data()),
                                                 reinterpret_cast<const std::byte*>(bs.data()),
                                                 reinterpret_cast<std::byte*>(out.data()), 9);
        for (const Value& each : out) EXPECT_EQ(each.real(), square - a.imag());
    });
}

}  // namespace
}  // namespace trireme
