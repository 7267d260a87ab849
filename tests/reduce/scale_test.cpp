#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include "reduce/elements.h"
#include "reduce/kernel.h"

namespace trireme {
namespace {

template <class T>
T with_the_one_nan(T value) {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

/// Random values, then special ones in every lane.
template <class T>
std::vector<T> operands() {
    std::mt19937_64 random(3);
    std::vector<T> values(400);
    for (T& value : values) value = random_value<T>(random);
    const std::vector<T> special = special_values<T>();
    for (int i = 0; i < 16; ++i) values.insert(values.end(), special.begin(), special.end());
    return values;
}

/// `run(data, out, count)` for every size, at every alignment, in place or not, against `wanted`.
template <class T, class Run>
void check_all(const std::vector<T>& values, const std::vector<T>& wanted, bool in_place, Run run) {
    std::vector<std::size_t> counts = interesting_counts<T>();
    counts.push_back(values.size());
    std::size_t shift = 0;
    for (const std::size_t count : counts) {
        const std::size_t from = (++shift * 37) % (values.size() - count + 1);
        Elements<T> data(values.data() + from, count, shift % 8);
        Elements<T> apart(count, (shift * 3 + 1) % 8);
        Elements<T>& out = in_place ? data : apart;
        run(data.data(), out.data(), count);
        if (count == 0) continue;
        ASSERT_EQ(std::memcmp(out.data(), wanted.data() + from, count * sizeof(T)), 0)
            << count << " from " << from;
        ASSERT_TRUE(data.margins_intact() && apart.margins_intact());
    }
}

template <class T>
class ScaleTest : public testing::Test {};
using Floats = testing::Types<double, float>;
TYPED_TEST_SUITE(ScaleTest, Floats);

TYPED_TEST(ScaleTest, divide_rounds_once) {
    using T = TypeParam;
    const std::vector<T> values = operands<T>();
    for (const std::size_t divisor : std::initializer_list<std::size_t>{1, 3, 8, 4099}) {
        std::vector<T> wanted;
        for (const T value : values) {
            wanted.push_back(with_the_one_nan(value / static_cast<T>(divisor)));
        }
        on_every_target([&] {
            check_all(values, wanted, true, [&](std::byte* data, std::byte*, std::size_t count) {
                divide(dtype_of<T>, data, count, divisor);
            });
            // Complex numbers, whose parts these are.
            std::vector<T> pairs(values.begin(), values.end());
            divide(dtype_of<std::complex<T>>, reinterpret_cast<std::byte*>(pairs.data()),
                   pairs.size() / 2, divisor);
            EXPECT_EQ(std::memcmp(pairs.data(), wanted.data(), pairs.size() * sizeof(T)), 0);
        });
    }
}

TYPED_TEST(ScaleTest, scale_rounds_the_factor_and_then_the_product) {
    using T = TypeParam;
    const std::vector<T> values = operands<T>();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double factor : {1.0, 1.0 / 3, -0.1, 0.0, 1e-40, 1e300, infinity, std::nan("")}) {
        std::vector<T> wanted;
        for (const T value : values) {
            wanted.push_back(with_the_one_nan(value * static_cast<T>(factor)));
        }
        on_every_target([&] {
            for (const bool in_place : {true, false}) {
                check_all(values, wanted, in_place,
                          [&](std::byte* data, std::byte* out, std::size_t count) {
                              scale(dtype_of<T>, data, factor, out, count);
                          });
            }
        });
    }
}

}  // namespace
}  // namespace trireme
