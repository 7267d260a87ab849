#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "trireme/dtype.h"

// Plain scalar arithmetic of every dtype, for the reference: nothing of the library's is used.

namespace trireme::conformance {

using Bytes = std::vector<std::byte>;

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`.
template <class F>
decltype(auto) visit(Dtype dtype, F&& f) {
    switch (dtype) {
        case Dtype::float64: return f.template operator()<double>();
        case Dtype::float32: return f.template operator()<float>();
        case Dtype::float16: return f.template operator()<Float16>();
        case Dtype::bfloat16: return f.template operator()<Bfloat16>();
        case Dtype::float8_e4m3: return f.template operator()<Float8E4m3>();
        case Dtype::float8_e5m2: return f.template operator()<Float8E5m2>();
        case Dtype::int64: return f.template operator()<std::int64_t>();
        case Dtype::int32: return f.template operator()<std::int32_t>();
        case Dtype::int16: return f.template operator()<std::int16_t>();
        case Dtype::int8: return f.template operator()<std::int8_t>();
        case Dtype::uint64: return f.template operator()<std::uint64_t>();
        case Dtype::uint32: return f.template operator()<std::uint32_t>();
        case Dtype::uint16: return f.template operator()<std::uint16_t>();
        case Dtype::uint8: break;
        case Dtype::boolean: return f.template operator()<bool>();
        case Dtype::complex128: return f.template operator()<std::complex<double>>();
        case Dtype::complex64: return f.template operator()<std::complex<float>>();
        case Dtype::located_float64: return f.template operator()<Located<double>>();
        case Dtype::located_float32: return f.template operator()<Located<float>>();
        case Dtype::located_int64: return f.template operator()<Located<std::int64_t>>();
        case Dtype::located_int32: return f.template operator()<Located<std::int32_t>>();
    }
    return f.template operator()<std::uint8_t>();
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <class T>
inline constexpr bool is_complex =
    std::is_same_v<T, std::complex<double>> || std::is_same_v<T, std::complex<float>>;
template <class T>
inline constexpr bool is_located = false;
template <class T>
inline constexpr bool is_located<Located<T>> = true;
/// Whether values can be reduced at all, and so have a flavour of their own.
template <class T>
inline constexpr bool is_moved = std::is_same_v<T, Float8E4m3> || std::is_same_v<T, Float8E5m2>;

/// The type in which a reduction is computed.
template <class T>
using Wide = std::conditional_t<is_half<T>, float, T>;

/// A float16 or bfloat16 has this many bits after the point, and its smallest value is 2^least.
template <class T>
inline constexpr int mantissa_bits = std::is_same_v<T, Float16> ? 10 : 7;
template <class T>
inline constexpr int least_exponent = std::is_same_v<T, Float16> ? -24 : -133;
template <class T>
inline constexpr unsigned infinity_bits = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;

template <class T>
[[nodiscard]] Wide<T> widen(T value) {
    if constexpr (!is_half<T>) {
        return value;
    } else {
        const unsigned magnitude = value.bits & 0x7fffU;
        const unsigned mantissa = magnitude & ((1U << mantissa_bits<T>)-1);
        const unsigned field = magnitude >> mantissa_bits<T>;
        float result = std::numeric_limits<float>::infinity();
        if (magnitude > infinity_bits<T>)
            result = std::numeric_limits<float>::quiet_NaN();
        else if (field == 0)
            result = std::ldexp(static_cast<float>(mantissa), least_exponent<T>);
        else if (magnitude < infinity_bits<T>)
            result = std::ldexp(static_cast<float>(mantissa | 1U << mantissa_bits<T>),
                                least_exponent<T> + static_cast<int>(field) - 1);
        return (value.bits & 0x8000U) != 0 ? -result : result;
    }
}

/// To the nearest, ties to even.
template <class T>
[[nodiscard]] T narrow(Wide<T> value) {
    if constexpr (!is_half<T>) {
        return value;
    } else {
        const unsigned sign = std::signbit(value) ? 0x8000U : 0;
        const double magnitude = std::abs(static_cast<double>(value));
        unsigned bits = infinity_bits<T>;
        if (std::isnan(magnitude)) {
            return {static_cast<std::uint16_t>(infinity_bits<T> | 1U << (mantissa_bits<T> - 1))};
        }
        if (magnitude == 0) {
            bits = 0;
        } else if (std::isfinite(magnitude)) {
            int exponent = 0;
            static_cast<void>(std::frexp(magnitude, &exponent));
            const int unit = std::max(exponent - mantissa_bits<T> - 1, least_exponent<T>);
            const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, -unit)));
            bits = (static_cast<unsigned>(unit - least_exponent<T>) << mantissa_bits<T>)+units;
            bits = std::min(bits, infinity_bits<T>);
        }
        return {static_cast<std::uint16_t>(sign | bits)};
    }
}

template <class T>
[[nodiscard]] T load(const Bytes& bytes, std::size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void store(Bytes& bytes, std::size_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

/// A number that looks like chance and depends on all three (the finaliser of splitmix64).
[[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t a, std::uint64_t b = 0,
                                               std::uint64_t c = 0) noexcept {
    std::uint64_t x = a * 0x9e3779b97f4a7c15U + b * 0xd1342543de82ef95U + c + 0x632be59bd9b4e019U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

/// What sort of values an operation's inputs have, so that its result does not depend on the order
/// in which ranks are combined, and shows every mistake.
enum class Flavour : std::uint8_t {
    any,      ///< any bits: data that is moved, integers that wrap
    whole,    ///< whole numbers whose sums are exact
    factors,  ///< numbers whose products are exact
    extreme,  ///< few different ones, with NaN, infinities and both zeros: for min and max
    wild,     ///< magnitudes so different that each order of additions gives another sum
};

namespace detail {

template <class F>
[[nodiscard]] F special(std::uint64_t chance) {
    constexpr F infinity = std::numeric_limits<F>::infinity();
    constexpr F values[] = {std::numeric_limits<F>::quiet_NaN(), infinity, -infinity, F(0), -F(0)};
    return values[chance % 5];
}

// `largest`: whole numbers up to it are exact in the type that the values are stored in.
template <class F>
[[nodiscard]] F floating(Flavour flavour, std::uint64_t chance, int largest) {
    const std::uint64_t more = chance >> 32;
    switch (flavour) {
        case Flavour::factors: {
            constexpr F values[] = {F(1), F(-1), F(2), F(-2), F(3), F(0.5)};
            return values[chance % 6];
        }
        case Flavour::extreme:
            if (more % 16 == 0) return special<F>(chance);
            return static_cast<F>(static_cast<int>(chance % 15) - 7);
        case Flavour::wild: {
            const int span = sizeof(F) == 8 ? 60 : largest > 1000 ? 12 : 24;
            const int power = static_cast<int>(more % static_cast<unsigned>(2 * span)) - span;
            const F mantissa = static_cast<F>(static_cast<std::int32_t>(chance)) / F(1 << 30);
            return std::ldexp(mantissa, power);
        }
        default:
            return static_cast<F>(
                static_cast<int>(chance % static_cast<unsigned>(2 * largest + 1)) - largest);
    }
}

}  // namespace detail

template <class T>
[[nodiscard]] T make_value(Flavour flavour, std::uint64_t chance) {
    if constexpr (std::is_same_v<T, bool>) {
        return chance % 3 != 0;
    } else {
        if constexpr (is_half<T>) {
            if (flavour != Flavour::any)
                return narrow<T>(detail::floating<float>(flavour, chance,
                                                         std::is_same_v<T, Float16> ? 2047 : 255));
        } else if constexpr (std::is_floating_point_v<T>) {
            if (flavour != Flavour::any) return detail::floating<T>(flavour, chance, 900);
        } else if constexpr (is_complex<T>) {
            using F = typename T::value_type;
            if (flavour == Flavour::factors)
                return {static_cast<F>(static_cast<int>(chance % 4) - 1),
                        static_cast<F>(static_cast<int>(chance / 4 % 4) - 1)};
            if (flavour != Flavour::any)
                return {detail::floating<F>(flavour, chance, 900),
                        detail::floating<F>(flavour, scramble(chance), 900)};
        } else if constexpr (is_located<T>) {
            using Value = decltype(T::value);
            if (flavour != Flavour::any) {
                T result{static_cast<Value>(static_cast<int>(chance % 5) - 2),
                         static_cast<typename T::Index>(chance >> 8) % 7};
                if constexpr (std::is_floating_point_v<Value>)
                    if (chance >> 40 & 1) result.value = detail::special<Value>(chance % 3);
                return result;
            }
        }
        // Two rounds, since the largest type has 16 bytes.
        const std::uint64_t bits[2] = {chance, scramble(chance)};
        static_assert(sizeof(T) <= sizeof(bits));
        T value;
        std::memcpy(static_cast<void*>(&value), bits, sizeof(T));
        return value;
    }
}

[[nodiscard]] inline Bytes make_values(Dtype dtype, Flavour flavour, std::size_t count,
                                       std::uint64_t seed, int rank) {
    return visit(dtype, [&]<class T>() {
        Bytes bytes(count * sizeof(T));
        for (std::size_t i = 0; i < count; ++i)
            store(bytes, i,
                  make_value<T>(flavour, scramble(seed, static_cast<std::uint64_t>(rank), i)));
        return bytes;
    });
}

}  // namespace trireme::conformance
