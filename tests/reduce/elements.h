#pragma once

// What the tests of the kernels share: operands at any address, and every instruction set.

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reduce/kernel.h"

namespace trireme {

/// A run of elements that starts `shift` bytes after an aligned address, and the bytes around it.
template <class T>
class Elements {
public:
    Elements(std::size_t count, std::size_t shift)
        : begin_(margin + shift),
          size_(count * sizeof(T)),
          bytes_(begin_ + size_ + margin, std::byte{0xA5}) {}
    Elements(const T* from, std::size_t count, std::size_t shift) : Elements(count, shift) {
        if (count > 0) std::memcpy(data(), from, size_);
    }

    std::byte* data() { return bytes_.data() + begin_; }
    [[nodiscard]] T get(std::size_t i) const {
        T value;
        std::memcpy(&value, bytes_.data() + begin_ + i * sizeof(T), sizeof(T));
        return value;
    }

    [[nodiscard]] bool margins_intact() const {
        const auto untouched = [](const std::byte* from, std::size_t count) {
            return std::all_of(from, from + count,
                               [](std::byte b) { return b == std::byte{0xA5}; });
        };
        return untouched(bytes_.data(), begin_) &&
               untouched(bytes_.data() + begin_ + size_, margin);
    }

private:
    static constexpr std::size_t margin = 8;

    std::size_t begin_;
    std::size_t size_;
    std::vector<std::byte> bytes_;
};

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

/// Counts up to which loops over vectors and what is left of them meet every case: all small ones,
/// then those around the multiples of 16 bytes, the shortest vector.
template <class T>
std::vector<std::size_t> interesting_counts() {
    constexpr std::size_t lanes = sizeof(T) < 16 ? 16 / sizeof(T) : 1;
    constexpr std::size_t vectors = 18;  // twice AVX-512, and more
    std::set<std::size_t> counts{0, 1, 2, 3, 4, 5, 6, 7};
    for (std::size_t n = 1; n <= vectors; ++n) {
        counts.insert({n * lanes - 1, n * lanes, n * lanes + lanes / 2, n * lanes + 1});
    }
    return {counts.begin(), counts.end()};
}

/// Where the result goes relative to the operands.
enum class Place { apart, on_a, on_b };

/// Operands and what must come of them; computed once, compared as bytes on every target.
template <class T>
struct Operands {
    std::vector<T> a, b, wanted;
};

template <class T>
void check_run(ReduceKernel kernel, const Operands<T>& operands, std::size_t from,
               std::size_t count, std::size_t shift, Place place) {
    // Different shifts, so that no two of the three are aligned alike.
    Elements<T> a(operands.a.data() + from, count, shift % 8);
    Elements<T> b(operands.b.data() + from, count, (shift * 3 + 1) % 8);
    Elements<T> apart(count, (shift * 5 + 2) % 8);
    Elements<T>& out = place == Place::on_a ? a : place == Place::on_b ? b : apart;
    kernel(a.data(), b.data(), out.data(), count);
    const T* wanted = operands.wanted.data() + from;
    if (count > 0 && std::memcmp(out.data(), wanted, count * sizeof(T)) != 0) {
        std::size_t i = 0;
        for (T got = out.get(i); std::memcmp(&got, wanted + i, sizeof(T)) == 0; got = out.get(i)) {
            ++i;
        }
        FAIL() << "element " << i << " of " << count << ", shift " << shift << ": "
               << testing::PrintToString(operands.a[from + i]) << " op "
               << testing::PrintToString(operands.b[from + i]) << " is "
               << testing::PrintToString(out.get(i)) << " instead of "
               << testing::PrintToString(wanted[i]);
    }
    ASSERT_TRUE(a.margins_intact() && b.margins_intact() && apart.margins_intact());
}

/// Every size at some alignment, in place and not; then all operands at once, and exchanged.
/// `operands` must be 600 or more.
template <class T>
void check_kernel(ReduceKernel kernel, const Operands<T>& operands) {
    ASSERT_GE(operands.a.size(), std::size_t{600});
    std::size_t shift = 0;
    for (const std::size_t count : interesting_counts<T>()) {
        for (const Place place : {Place::apart, Place::on_a, Place::on_b}) {
            const std::size_t from = (++shift * 37) % (operands.a.size() - count + 1);
            check_run(kernel, operands, from, count, shift, place);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    const std::size_t all = operands.a.size();
    check_run(kernel, operands, 0, all, 0, Place::apart);
    check_run(kernel, operands, 0, all, 3, Place::on_a);
    const Operands<T> exchanged{operands.b, operands.a, operands.wanted};
    check_run(kernel, exchanged, 0, all, 5, Place::on_b);
}

/// Values at which reductions go wrong: extremes, both zeros, NaNs of several payloads and signs.
/// An odd number of them.
template <class T>
std::vector<T> special_values() {
    using NumberLimits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const auto quiet = std::bit_cast<Bits>(NumberLimits::quiet_NaN());
        const auto infinite = std::bit_cast<Bits>(NumberLimits::infinity());
        const Bits sign = Bits{1} << (sizeof(T) * 8 - 1);
        return {T{0},
                -T{0},
                T{1},
                -T{1},
                NumberLimits::min(),
                NumberLimits::denorm_min(),
                -NumberLimits::denorm_min(),
                NumberLimits::max(),
                NumberLimits::lowest(),
                NumberLimits::infinity(),
                -NumberLimits::infinity(),
                NumberLimits::quiet_NaN(),
                std::bit_cast<T>(quiet | sign),
                std::bit_cast<T>(infinite | sign | Bits{0x123}),  // signals
                std::bit_cast<T>(quiet | sign | Bits{0x321})};
    } else {
        return {T{0},
                T{1},
                static_cast<T>(-1),
                T{2},
                static_cast<T>(-2),
                T{16},
                NumberLimits::min(),
                static_cast<T>(NumberLimits::min() + 1),
                NumberLimits::max(),
                static_cast<T>(NumberLimits::max() - 1),
                static_cast<T>(NumberLimits::max() / 2 + 1)};
    }
}

template <class T>
T random_value(std::mt19937_64& random) {
    static const std::vector<T> special = special_values<T>();
    if (random() % 4 == 0) return special[random() % special.size()];
    if constexpr (std::is_floating_point_v<T>) {
        // Exponents wide enough to overflow in a product, close enough to matter in a sum.
        const int power = static_cast<int>(random() % 8) * (sizeof(T) == 4 ? 11 : 80) / 4;
        const double fraction = static_cast<double>(random() % (1U << 24)) / (1U << 23) - 1;
        return static_cast<T>(std::ldexp(fraction, power));
    } else {
        return static_cast<T>(random());
    }
}

/// Every pair of special values in every lane, and random ones; `expected(a, b)` is the reference.
template <class T, class Reference>
Operands<T> make_operands(const std::vector<T>& special, T (*next)(std::mt19937_64&),
                          Reference expected) {
    Operands<T> operands;
    // The number of pairs is odd, so that their repetitions shift them through all lanes.
    const std::size_t pairs = special.size() * special.size();
    EXPECT_EQ(pairs % 2, 1U);
    const std::size_t repetitions = 64 / sizeof(T);
    for (std::size_t i = 0; i < pairs; ++i) {
        operands.a.push_back(special[i / special.size()]);
        operands.b.push_back(special[i % special.size()]);
    }
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < 1001; ++i) {
        operands.a.push_back(next(random));
        operands.b.push_back(next(random));
    }
    for (std::size_t i = 0; i < operands.a.size(); ++i) {
        operands.wanted.push_back(expected(operands.a[i], operands.b[i]));
    }
    for (std::vector<T>* each : {&operands.a, &operands.b, &operands.wanted}) {
        const std::vector<T> once(each->begin(),
                                  each->begin() + static_cast<std::ptrdiff_t>(pairs));
        for (std::size_t n = 1; n < repetitions; ++n) {
            each->insert(each->end(), once.begin(), once.end());
        }
    }
    return operands;
}

}  // namespace trireme
