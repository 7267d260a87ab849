#include "reduce/kernel.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trireme {
namespace {

/// The reference: the promises of kernel.h, one element at a time.
template <class T>
T expected(ReduceOp op, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
        T result{};
        switch (op.kind()) {
            case ReduceOp::Kind::sum:
            case ReduceOp::Kind::avg: result = a + b; break;
            case ReduceOp::Kind::prod: result = a * b; break;
            case ReduceOp::Kind::min:
                result = std::fmin(a, b);
                if (a == b) result = std::signbit(a) ? a : b;  // fmin may return either zero
                break;
            case ReduceOp::Kind::max:
                result = std::fmax(a, b);
                if (a == b) result = std::signbit(a) ? b : a;
                break;
        }
        return std::isnan(result) ? std::numeric_limits<T>::quiet_NaN() : result;
    } else {
        __extension__ using Wide = __int128;  // holds every sum and product exactly
        const Wide x = a;
        const Wide y = b;
        switch (op.kind()) {
            case ReduceOp::Kind::sum: return static_cast<T>(x + y);
            case ReduceOp::Kind::prod: return static_cast<T>(x * y);
            case ReduceOp::Kind::min: return x < y ? a : b;
            case ReduceOp::Kind::max: return x > y ? a : b;
            case ReduceOp::Kind::avg: break;
        }
        return T{};
    }
}

/// Values at which reductions go wrong: extremes, both zeros, NaNs of several payloads and signs.
template <class T>
std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const auto quiet = std::bit_cast<Bits>(Limits::quiet_NaN());
        const Bits sign = Bits{1} << (sizeof(T) * 8 - 1);
        return {T{0},
                -T{0},
                T{1},
                -T{1},
                Limits::min(),
                Limits::denorm_min(),
                -Limits::denorm_min(),
                Limits::max(),
                Limits::lowest(),
                Limits::infinity(),
                -Limits::infinity(),
                Limits::quiet_NaN(),
                std::bit_cast<T>(quiet | sign),
                std::bit_cast<T>(quiet | Bits{0x123}),
                std::bit_cast<T>(quiet | sign | Bits{0x321})};
    } else {
        return {T{0},
                T{1},
                static_cast<T>(-1),
                T{2},
                static_cast<T>(-2),
                T{16},
                Limits::min(),
                static_cast<T>(Limits::min() + 1),
                Limits::max(),
                static_cast<T>(Limits::max() - 1),
                static_cast<T>(Limits::max() / 2 + 1)};
    }
}

template <class T>
T random_value(std::mt19937_64& random) {
    static const std::vector<T> special = special_values<T>();
    if (random() % 4 == 0) return special[random() % special.size()];
    if constexpr (std::is_floating_point_v<T>) {
        return std::uniform_real_distribution<T>(-1000, 1000)(random);
    } else {
        return static_cast<T>(random());
    }
}

/// A run of elements that starts `shift` bytes after an aligned address, and the bytes around it.
template <class T>
class Elements {
public:
    Elements(std::size_t count, std::size_t shift)
        : count_(count),
          begin_(margin + shift),
          bytes_(begin_ + count * sizeof(T) + margin, std::byte{0xA5}) {}

    std::byte* data() { return bytes_.data() + begin_; }
    [[nodiscard]] T get(std::size_t i) const {
        T value;
        std::memcpy(&value, bytes_.data() + begin_ + i * sizeof(T), sizeof(T));
        return value;
    }
    void set(std::size_t i, T value) { std::memcpy(data() + i * sizeof(T), &value, sizeof(T)); }

    [[nodiscard]] bool margins_intact() const {
        for (std::size_t i = 0; i < bytes_.size(); ++i) {
            const bool inside = i >= begin_ && i < begin_ + count_ * sizeof(T);
            if (!inside && bytes_[i] != std::byte{0xA5}) return false;
        }
        return true;
    }

private:
    static constexpr std::size_t margin = 64;

    std::size_t count_;
    std::size_t begin_;
    std::vector<std::byte> bytes_;
};

template <class T>
bool same_bits(T x, T y) {
    return std::memcmp(&x, &y, sizeof(T)) == 0;
}

const std::array all_ops{sum, prod, min, max, avg};

/// Runs `body` once per instruction set that was compiled and that this processor has.
template <class Body>
void on_every_target(Body body) {
    std::set<std::string_view> done;  // those that were not compiled fall back to the same one
    for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
        hwy::SetSupportedTargetsForTest(left & -left);
        if (done.insert(kernel_target()).second) {
            SCOPED_TRACE(std::string(kernel_target()));
            body();
        }
        hwy::SetSupportedTargetsForTest(0);
    }
}

template <class T>
class ReduceKernelTest : public testing::Test {
protected:
    template <class Body>
    void for_every_op(Body body) {
        for (const ReduceOp op : all_ops) {
            const ReduceKernel kernel = find_kernel(dtype_of<T>, op);
            const bool refused = op == avg && !std::is_floating_point_v<T>;
            ASSERT_EQ(kernel == nullptr, refused) << name(op);
            if (refused) continue;
            SCOPED_TRACE(std::string(name(op)));
            body(op, kernel);
        }
    }
};

using KernelTypes = testing::Types<double, float, std::int64_t, std::int32_t, std::int16_t,
                                   std::int8_t, std::uint8_t>;
TYPED_TEST_SUITE(ReduceKernelTest, KernelTypes);

/// Where the result goes relative to the operands.
enum class Place { apart, on_a, on_b };

template <class T>
void check(ReduceOp op, ReduceKernel kernel, std::size_t count, std::size_t shift, Place place,
           std::mt19937_64& random) {
    // Different shifts, so that no two of the three are aligned alike.
    Elements<T> a(count, shift);
    Elements<T> b(count, (shift * 3 + 1) % 8);
    Elements<T> apart(count, (shift * 5 + 2) % 8);
    std::vector<T> wanted(count);
    for (std::size_t i = 0; i < count; ++i) {
        a.set(i, random_value<T>(random));
        b.set(i, random_value<T>(random));
        wanted[i] = expected(op, a.get(i), b.get(i));
    }
    Elements<T>& out = place == Place::on_a ? a : place == Place::on_b ? b : apart;
    kernel(a.data(), b.data(), out.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(same_bits(out.get(i), wanted[i]))
            << "element " << i << " of " << count << ", shift " << shift << ": " << +out.get(i)
            << " instead of " << +wanted[i];
    }
    ASSERT_TRUE(a.margins_intact() && b.margins_intact() && apart.margins_intact());
}

TYPED_TEST(ReduceKernelTest, matches_the_definition_for_every_size_and_alignment) {
    on_every_target([this] {
        this->for_every_op([](ReduceOp op, ReduceKernel kernel) {
            std::mt19937_64 random(1);
            for (std::size_t shift = 0; shift < 8; ++shift) {
                for (std::size_t count = 0; count <= 67; ++count) {
                    for (const Place place : {Place::apart, Place::on_a, Place::on_b}) {
                        check<TypeParam>(op, kernel, count, shift, place, random);
                        if (testing::Test::HasFatalFailure()) return;
                    }
                }
            }
        });
    });
}

TYPED_TEST(ReduceKernelTest, matches_the_definition_for_long_runs) {
    on_every_target([this] {
        this->for_every_op([](ReduceOp op, ReduceKernel kernel) {
            std::mt19937_64 random(2);
            for (const std::size_t shift : {0, 1, 4, 7}) {
                for (const Place place : {Place::apart, Place::on_a, Place::on_b}) {
                    check<TypeParam>(op, kernel, 4099, shift, place, random);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        });
    });
}

TYPED_TEST(ReduceKernelTest, every_pair_of_special_values_in_every_lane_and_either_order) {
    const std::vector<TypeParam> special = special_values<TypeParam>();
    on_every_target([&] {
        this->for_every_op([&](ReduceOp op, ReduceKernel kernel) {
            for (const TypeParam x : special) {
                for (const TypeParam y : special) {
                    // Alone among ones, at each place of a run that ends in a tail: no lane may
                    // depend on its neighbours.
                    for (const std::size_t count : {std::size_t{1}, std::size_t{37}}) {
                        for (std::size_t place = 0; place < count; ++place) {
                            std::vector<TypeParam> a(count, TypeParam{1});
                            std::vector<TypeParam> b(count, TypeParam{1});
                            std::vector<TypeParam> out(count);
                            a[place] = x;
                            b[place] = y;
                            kernel(reinterpret_cast<const std::byte*>(a.data()),
                                   reinterpret_cast<const std::byte*>(b.data()),
                                   reinterpret_cast<std::byte*>(out.data()), count);
                            ASSERT_TRUE(same_bits(out[place], expected(op, x, y)))
                                << +x << ", " << +y << " in lane " << place << " of " << count;
                            ASSERT_TRUE(same_bits(out[place], expected(op, y, x)))
                                << +x << ", " << +y << ": the order matters";
                            const TypeParam ones = expected(op, TypeParam{1}, TypeParam{1});
                            for (std::size_t i = 0; i < count; ++i) {
                                if (i == place) continue;
                                ASSERT_TRUE(same_bits(out[i], ones)) << "neighbour " << i;
                            }
                        }
                    }
                }
            }
        });
    });
}

TEST(Divide, rounds_once_at_every_size_and_alignment) {
    const auto check_type = []<class T>(T) {
        std::mt19937_64 random(3);
        for (std::size_t shift = 0; shift < 8; ++shift) {
            for (std::size_t count = 0; count <= 67; ++count) {
                for (const std::size_t divisor :
                     {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{4099}}) {
                    Elements<T> data(count, shift);
                    std::vector<T> wanted(count);
                    for (std::size_t i = 0; i < count; ++i) {
                        data.set(i, random_value<T>(random));
                        wanted[i] = data.get(i) / static_cast<T>(divisor);
                        if (std::isnan(wanted[i])) wanted[i] = std::numeric_limits<T>::quiet_NaN();
                    }
                    divide(dtype_of<T>, data.data(), count, divisor);
                    for (std::size_t i = 0; i < count; ++i) {
                        ASSERT_TRUE(same_bits(data.get(i), wanted[i])) << i << " of " << count;
                    }
                    ASSERT_TRUE(data.margins_intact());
                }
            }
        }
    };
    on_every_target([&] {
        check_type(float{});
        check_type(double{});
    });
}

TEST(FindKernel, refuses_what_has_no_kernel) {
    for (const ReduceOp op : all_ops) {
        EXPECT_EQ(find_kernel(Dtype::float16, op), nullptr);
        EXPECT_EQ(find_kernel(Dtype::bfloat16, op), nullptr);
        EXPECT_EQ(find_kernel(Dtype::boolean, op), nullptr);
    }
    for (const Dtype dtype :
         {Dtype::int64, Dtype::int32, Dtype::int16, Dtype::int8, Dtype::uint8}) {
        EXPECT_EQ(find_kernel(dtype, avg), nullptr) << name(dtype);
    }
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
