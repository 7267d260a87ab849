#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "conformance/values.h"
#include "trireme/reduce_op.h"

// What a reduction must give: the left fold in rank order, in the type it is computed in, rounded
// once at the end.

namespace trireme::conformance {

/// A reduce op of the library, or one of ours.
enum class Own : std::uint8_t {
    none,
    join,    ///< commutes: the greater of floats, the bits of either one else
    last,    ///< a op b = b: does not commute
    affine,  ///< of 64-bit integers that each hold a map x -> a x + b: their composition
};

struct Reduction {
    ReduceOp::Kind kind = ReduceOp::Kind::sum;
    Own own = Own::none;
    [[nodiscard]] bool operator==(const Reduction&) const noexcept = default;
    [[nodiscard]] bool commutes() const noexcept { return own == Own::none || own == Own::join; }
};

/// All of them.
[[nodiscard]] inline std::vector<Reduction> all_reductions() {
    std::vector<Reduction> all;
    for (std::size_t kind = 0; kind + 1 < reduce_op_kinds; ++kind)
        all.push_back({static_cast<ReduceOp::Kind>(kind)});
    for (const Own own : {Own::join, Own::last, Own::affine})
        all.push_back({ReduceOp::Kind::user, own});
    return all;
}

/// Whether a pair has a meaning, as docs/operations.md says.
[[nodiscard]] inline bool has_meaning(Dtype dtype, Reduction reduction) {
    using Kind = ReduceOp::Kind;
    const DtypeClass kind = class_of(dtype);
    if (kind == DtypeClass::moved) return false;
    if (reduction.own != Own::none) return true;
    switch (reduction.kind) {
        case Kind::sum:
        case Kind::prod: return kind != DtypeClass::located;
        case Kind::min:
        case Kind::max: return kind != DtypeClass::complex;
        case Kind::avg: return kind == DtypeClass::floating || kind == DtypeClass::complex;
        case Kind::premul_sum: return kind == DtypeClass::floating;
        default: return kind == DtypeClass::integer || kind == DtypeClass::boolean;
    }
}

/// `affine` only means something for these.
[[nodiscard]] inline bool is_for(Dtype dtype, Own own) {
    return own != Own::affine || dtype == Dtype::int64 || dtype == Dtype::uint64;
}

/// A power of two, so that multiplying is exact.
[[nodiscard]] inline double factor_of(int rank) {
    constexpr std::array factors{0.5, -2.0, 1.0, 4.0, -0.25};
    return factors[static_cast<std::size_t>(rank) % factors.size()];
}

[[nodiscard]] inline Flavour flavour_of(Dtype dtype, Reduction reduction) {
    using Kind = ReduceOp::Kind;
    if (class_of(dtype) == DtypeClass::integer || class_of(dtype) == DtypeClass::moved)
        return Flavour::any;
    if (reduction.kind == Kind::prod) return Flavour::factors;
    if (reduction.kind == Kind::min || reduction.kind == Kind::max) return Flavour::extreme;
    return Flavour::whole;
}

namespace detail {

template <class F>
[[nodiscard]] F one_nan(F value) {
    return std::isnan(value) ? std::numeric_limits<F>::quiet_NaN() : value;
}

// The lesser where `sign` is 1, the greater where it is -1; NaN wins, and -0 is less than +0.
template <class F>
[[nodiscard]] F extreme(F a, F b, int sign) {
    if constexpr (std::is_floating_point_v<F>) {
        if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
        if (a == b) return std::signbit(a) == (sign > 0) ? a : b;
    }
    return (a < b) == (sign > 0) ? a : b;
}

template <class T>
[[nodiscard]] T located_extreme(T a, T b, int sign) {
    if constexpr (std::is_floating_point_v<decltype(T::value)>) {
        if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(a.value) ? a : b;
        if (std::isnan(a.value)) return a.index <= b.index ? a : b;
    }
    if (a.value == b.value) return a.index <= b.index ? a : b;
    return (a.value < b.value) == (sign > 0) ? a : b;
}

template <class T>
[[nodiscard]] T integer(ReduceOp::Kind kind, T a, T b) {
    using Kind = ReduceOp::Kind;
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    switch (kind) {
        case Kind::sum: return static_cast<T>(x + y);
        case Kind::prod: return static_cast<T>(x * y);
        case Kind::min: return a < b ? a : b;
        case Kind::max: return a < b ? b : a;
        case Kind::band: return static_cast<T>(x & y);
        case Kind::bor: return static_cast<T>(x | y);
        case Kind::bxor: return static_cast<T>(x ^ y);
        case Kind::land: return static_cast<T>(a != 0 && b != 0);
        case Kind::lor: return static_cast<T>(a != 0 || b != 0);
        default: return static_cast<T>((a != 0) != (b != 0));
    }
}

}  // namespace detail

/// One of our own reductions, `a` coming from lower ranks.
template <class W>
[[nodiscard]] W combine_own(Own own, W a, W b) {
    if (own == Own::last) return b;
    if constexpr (std::is_floating_point_v<W>) return a < b ? b : a;
    if constexpr (std::is_integral_v<W> && sizeof(W) == 8) {
        if (own == Own::affine) {
            // The map with factor in the low half and summand in the high one; a after b.
            const auto x = static_cast<std::uint64_t>(a);
            const auto y = static_cast<std::uint64_t>(b);
            const auto factor = static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y);
            const auto summand =
                static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(y >> 32) +
                static_cast<std::uint32_t>(x >> 32);
            return static_cast<W>(std::uint64_t{summand} << 32 | factor);
        }
    }
    std::byte left[sizeof(W)];
    std::byte right[sizeof(W)];
    std::memcpy(left, &a, sizeof(W));
    std::memcpy(right, &b, sizeof(W));
    for (std::size_t i = 0; i < sizeof(W); ++i) left[i] |= right[i];
    std::memcpy(static_cast<void*>(&a), left, sizeof(W));
    return a;
}

template <class W>
[[nodiscard]] W combine(Reduction reduction, W a, W b) {
    using Kind = ReduceOp::Kind;
    const int sign = reduction.kind == Kind::min ? 1 : -1;
    if (reduction.own != Own::none) return combine_own(reduction.own, a, b);
    if constexpr (std::is_floating_point_v<W>) {
        switch (reduction.kind) {
            case Kind::prod: return detail::one_nan(a * b);
            case Kind::min:
            case Kind::max: return detail::extreme(a, b, sign);
            default: return detail::one_nan(a + b);
        }
    } else if constexpr (is_complex<W>) {
        if (reduction.kind != Kind::prod) return {a.real() + b.real(), a.imag() + b.imag()};
        return {a.real() * b.real() - a.imag() * b.imag(),
                a.real() * b.imag() + a.imag() * b.real()};
    } else if constexpr (is_located<W>) {
        return detail::located_extreme(a, b, sign);
    } else if constexpr (std::is_same_v<W, bool>) {
        switch (reduction.kind) {
            case Kind::sum:
            case Kind::max:
            case Kind::bor:
            case Kind::lor: return a || b;
            case Kind::bxor:
            case Kind::lxor: return a != b;
            default: return a && b;
        }
    } else if constexpr (std::is_integral_v<W>) {
        return detail::integer(reduction.kind, a, b);
    } else {
        return a;
    }
}

template <class W>
[[nodiscard]] W divided(W value, int ranks) {
    if constexpr (std::is_floating_point_v<W>) return value / static_cast<W>(ranks);
    if constexpr (is_complex<W>) {
        const auto divisor = static_cast<typename W::value_type>(ranks);
        return {value.real() / divisor, value.imag() / divisor};
    }
    return value;
}

template <class W>
[[nodiscard]] W premultiplied(W value, int rank) {
    if constexpr (std::is_floating_point_v<W>) return value * static_cast<W>(factor_of(rank));
    return value;
}

/// The reduction of the first `ranks` inputs.
[[nodiscard]] inline Bytes fold(Dtype dtype, Reduction reduction, const std::vector<Bytes>& in,
                                int ranks) {
    return visit(dtype, [&]<class T>() {
        Bytes out(in.front().size());
        const bool scaled = reduction.kind == ReduceOp::Kind::premul_sum;
        const auto value = [&](int rank, std::size_t i) {
            const auto wide = widen(load<T>(in[static_cast<std::size_t>(rank)], i));
            return scaled ? premultiplied(wide, rank) : wide;
        };
        for (std::size_t i = 0; i < out.size() / sizeof(T); ++i) {
            auto folded = value(0, i);
            for (int rank = 1; rank < ranks; ++rank)
                folded = combine(reduction, folded, value(rank, i));
            if (reduction.kind == ReduceOp::Kind::avg) folded = divided(folded, ranks);
            store(out, i, narrow<T>(folded));
        }
        return out;
    });
}

/// The library's view of one of our own reductions.
[[nodiscard]] inline const UserReduce& user_reduce(Own own) {
    const auto make = [](Own which) {
        return [which](const void* a, const void* b, void* out, std::size_t count, Dtype dtype) {
            visit(dtype, [&]<class T>() {
                for (std::size_t i = 0; i < count; ++i) {
                    T values[2];
                    std::memcpy(static_cast<void*>(&values[0]),
                                static_cast<const std::byte*>(a) + i * sizeof(T), sizeof(T));
                    std::memcpy(static_cast<void*>(&values[1]),
                                static_cast<const std::byte*>(b) + i * sizeof(T), sizeof(T));
                    const T result = combine_own(which, values[0], values[1]);
                    std::memcpy(static_cast<std::byte*>(out) + i * sizeof(T), &result, sizeof(T));
                }
            });
        };
    };
    static const UserReduce join("join", make(Own::join), true);
    static const UserReduce last("last", make(Own::last), false);
    static const UserReduce affine("affine", make(Own::affine), false);
    return own == Own::join ? join : own == Own::last ? last : affine;
}

[[nodiscard]] inline ReduceOp reduce_op(Reduction reduction, int rank) {
    if (reduction.own != Own::none) return user_reduce(reduction.own);
    if (reduction.kind == ReduceOp::Kind::premul_sum) return premul_sum(factor_of(rank));
    return ReduceOp(reduction.kind);
}

[[nodiscard]] inline std::string_view name(Reduction reduction) {
    constexpr std::array<std::string_view, 4> own{"", "join", "last", "affine"};
    return reduction.own == Own::none ? trireme::name(reduction.kind)
                                      : own[static_cast<std::size_t>(reduction.own)];
}

}  // namespace trireme::conformance
