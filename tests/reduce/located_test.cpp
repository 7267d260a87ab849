#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "reduce/elements.h"
#include "reduce/kernel.h"

namespace trireme {

template <class T>
void PrintTo(const Located<T>& x, std::ostream* out) {
    *out << x.value << " at " << x.index;
}

namespace {

using Kind = ReduceOp::Kind;

/// The reference, rule by rule: NaN, then the value, then the index, then the sign of zero.
template <class T>
Located<T> expected(Kind op, Located<T> a, Located<T> b) {
    const Located<T> low = a.index < b.index ? a : b;
    if constexpr (std::is_floating_point_v<T>) {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        if (std::isnan(a.value) && std::isnan(b.value)) return {nan, low.index};
        if (std::isnan(a.value)) return {nan, a.index};
        if (std::isnan(b.value)) return {nan, b.index};
        if (a.value == b.value && a.index == b.index) {
            if (op == Kind::min) return std::signbit(a.value) ? a : b;
            return std::signbit(a.value) ? b : a;
        }
    }
    if (a.value == b.value) return low;
    if (op == Kind::min) return a.value < b.value ? a : b;
    return a.value > b.value ? a : b;
}

template <class T>
using IndexLimits = std::numeric_limits<typename Located<T>::Index>;

template <class T>
Located<T> random_located(std::mt19937_64& random) {
    using Index = typename Located<T>::Index;
    return {random_value<T>(random),
            static_cast<Index>(random() % 3 == 0 ? random() : random() % 5)};
}

/// Each special value at indices below, equal to and above others.
template <class T>
std::vector<Located<T>> special_located() {
    std::vector<Located<T>> values;
    for (const T value : special_values<T>()) {
        for (const auto index :
             {IndexLimits<T>::min(), decltype(IndexLimits<T>::min()){7}, IndexLimits<T>::max()}) {
            values.push_back({value, index});
        }
    }
    return values;
}

template <class T>
class LocatedKernelTest : public testing::Test {};
using Values = testing::Types<double, float, std::int64_t, std::int32_t>;
TYPED_TEST_SUITE(LocatedKernelTest, Values);

TYPED_TEST(LocatedKernelTest, matches_the_definition_for_every_size_and_either_order) {
    using Value = Located<TypeParam>;
    for (const Kind op : {Kind::min, Kind::max}) {
        SCOPED_TRACE(std::string(name(op)));
        const Operands<Value> operands =
            make_operands<Value>(special_located<TypeParam>(), &random_located<TypeParam>,
                                 [op](Value a, Value b) { return expected(op, a, b); });
        check_kernel(find_kernel(dtype_of<Value>, op), operands);
    }
}

TEST(LocatedKernel, gives_the_lowest_index_of_equal_values_whatever_the_sign_of_zero) {
    const auto reduce = [](Kind op, Located<float> a, Located<float> b) {
        Located<float> out{};
        find_kernel(Dtype::located_float32, op)(reinterpret_cast<const std::byte*>(&a),
                                                reinterpret_cast<const std::byte*>(&b),
                                                reinterpret_cast<std::byte*>(&out), 1);
        return out;
    };
    const Located<float> plus{0.0F, 3};
    const Located<float> minus{-0.0F, 5};
    for (const Kind op : {Kind::min, Kind::max}) {
        EXPECT_EQ(reduce(op, plus, minus).index, 3);
        EXPECT_FALSE(std::signbit(reduce(op, minus, plus).value)) << "the value at the index";
        const Located<float> nan{std::nanf("1"), 9};
        EXPECT_EQ(reduce(op, plus, nan).index, 9);
        EXPECT_EQ(reduce(op, nan, {std::nanf("2"), 4}).index, 4);
    }
}

}  // namespace
}  // namespace trireme
