// Highway compiles this file once per instruction set: foreach_target.h includes it again and
// again, each time with another HWY_NAMESPACE. What lies outside of HWY_NAMESPACE is therefore
// guarded, and the standard headers come first so that they are compiled for the baseline only.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "reduce/kernel_families.h"
#include "reduce/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/number.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce/vectors_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme {
namespace HWY_NAMESPACE {
namespace {

/// The smaller one; `b` where they compare equal or unordered.
template <class V>
V min_or_second(V a, V b) {
#if HWY_ARCH_X86
    return hn::Min(a, b);  // exactly what minps does
#else
    return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

/// The larger one; `b` where they compare equal or unordered.
template <class V>
V max_or_second(V a, V b) {
#if HWY_ARCH_X86
    return hn::Max(a, b);
#else
    return hn::IfThenElse(hn::Lt(b, a), a, b);
#endif
}

// Each operation says the same thing twice: for one element and for a vector of them. Integers are
// computed modulo 2^64 and cut, because overflow of the signed types would be undefined.

struct Sum {
    template <class T>
    static T one(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) return settle_nan(a + b);
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        return settle_nan(d, hn::Add(a, b));
    }
};

struct Prod {
    template <class T>
    static T one(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) return settle_nan(a * b);
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        if constexpr (sizeof(hn::TFromD<D>) == 1) {
            // No instruction set multiplies bytes: multiply pairs of them as 16-bit numbers, whose
            // low byte is the low byte's product, and once more for the high bytes.
            const hn::Repartition<std::uint16_t, D> wide;
            const auto a16 = hn::BitCast(wide, a);
            const auto b16 = hn::BitCast(wide, b);
            const auto low = hn::And(hn::Mul(a16, b16), hn::Set(wide, std::uint16_t{0xFF}));
            const auto high = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
            return hn::BitCast(d, hn::Or(low, hn::ShiftLeft<8>(high)));
        } else {
            return settle_nan(d, hn::Mul(a, b));
        }
    }
};

// Floating-point min and max are computed twice, with the operands in either order. Where the two
// answers do not compare equal, an operand was NaN. Where they do, they differ at most in the sign
// of zero, which `or` sets and `and` clears.

struct Min {
    template <class T>
    static T one(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a) || std::isnan(b)) return the_nan<T>;
            if (a == b) return std::signbit(a) ? a : b;
        }
        return a < b ? a : b;
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        using T = hn::TFromD<D>;
        if constexpr (std::is_floating_point_v<T>) {
            const auto x = min_or_second(a, b);
            const auto y = min_or_second(b, a);
            return nan_unless(d, hn::Eq(x, y), hn::Or(x, y));
        } else {
            return hn::Min(a, b);
        }
    }
};

struct Max {
    template <class T>
    static T one(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            if (std::isnan(a) || std::isnan(b)) return the_nan<T>;
            if (a == b) return std::signbit(a) ? b : a;
        }
        return a < b ? b : a;
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        using T = hn::TFromD<D>;
        if constexpr (std::is_floating_point_v<T>) {
            const auto x = max_or_second(a, b);
            const auto y = max_or_second(b, a);
            return nan_unless(d, hn::Eq(x, y), hn::And(x, y));
        } else {
            return hn::Max(a, b);
        }
    }
};

struct Band {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>(a & b);
    }
    template <class D>
    static hn::Vec<D> many(D, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::And(a, b);
    }
};

struct Bor {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>(a | b);
    }
    template <class D>
    static hn::Vec<D> many(D, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::Or(a, b);
    }
};

struct Bxor {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>(a ^ b);
    }
    template <class D>
    static hn::Vec<D> many(D, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::Xor(a, b);
    }
};

// The logical ones ask for zeros: comparing with zero gives all bits, of which one is kept.

template <class D>
hn::Vec<D> is_zero(D d, hn::Vec<D> value) {
    return hn::VecFromMask(d, hn::Eq(value, hn::Zero(d)));
}

template <class D>
hn::Vec<D> one_bit(D d) {
    return hn::Set(d, hn::TFromD<D>{1});
}

struct Land {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>(a != 0 && b != 0);
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::AndNot(hn::Or(is_zero(d, a), is_zero(d, b)), one_bit(d));
    }
};

struct Lor {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>(a != 0 || b != 0);
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::AndNot(is_zero(d, hn::Or(a, b)), one_bit(d));
    }
};

struct Lxor {
    template <class T>
    static T one(T a, T b) {
        return static_cast<T>((a != 0) != (b != 0));
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        return hn::And(hn::Xor(is_zero(d, a), is_zero(d, b)), one_bit(d));
    }
};

using Kind = ReduceOp::Kind;
using Row = std::array<ReduceKernel, reduce_op_kinds>;
using Table = std::array<Row, dtype_count>;

constexpr ReduceKernel& at(Row& row, Kind op) { return row[static_cast<std::size_t>(op)]; }

template <class T>
constexpr void add_float(Table& table) {
    Row& row = table[static_cast<std::size_t>(dtype_of<T>)];
    at(row, Kind::sum) = at(row, Kind::avg) = at(row, Kind::premul_sum) = &reduce<T, Sum>;
    at(row, Kind::prod) = &reduce<T, Prod>;
    at(row, Kind::min) = &reduce<T, Min>;
    at(row, Kind::max) = &reduce<T, Max>;
}

/// Bits know nothing of elements: one kernel does for integers of every size.
template <class Operation, std::size_t size>
void reduce_bits(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
    reduce<std::uint8_t, Operation>(a, b, out, count * size);
}

template <class T>
constexpr void add_integer(Table& table) {
    // The sign only matters to an order: signed and unsigned share everything else.
    using Bits = std::make_unsigned_t<T>;
    Row& row = table[static_cast<std::size_t>(dtype_of<T>)];
    at(row, Kind::sum) = &reduce<Bits, Sum>;
    at(row, Kind::prod) = &reduce<Bits, Prod>;
    at(row, Kind::min) = &reduce<T, Min>;
    at(row, Kind::max) = &reduce<T, Max>;
    at(row, Kind::band) = &reduce_bits<Band, sizeof(T)>;
    at(row, Kind::bor) = &reduce_bits<Bor, sizeof(T)>;
    at(row, Kind::bxor) = &reduce_bits<Bxor, sizeof(T)>;
    at(row, Kind::land) = &reduce<Bits, Land>;
    at(row, Kind::lor) = &reduce<Bits, Lor>;
    at(row, Kind::lxor) = &reduce<Bits, Lxor>;
}

/// Booleans are bytes to the logical operations, which take any byte and give 0 or 1.
constexpr void add_boolean(Table& table) {
    using Byte = std::uint8_t;
    Row& row = table[static_cast<std::size_t>(Dtype::boolean)];
    for (const Kind op : {Kind::sum, Kind::max, Kind::bor, Kind::lor}) {
        at(row, op) = &reduce<Byte, Lor>;
    }
    for (const Kind op : {Kind::prod, Kind::min, Kind::band, Kind::land}) {
        at(row, op) = &reduce<Byte, Land>;
    }
    for (const Kind op : {Kind::bxor, Kind::lxor}) at(row, op) = &reduce<Byte, Lxor>;
}

constexpr Table make_table() {
    Table table{};
    add_float<double>(table);
    add_float<float>(table);
    add_integer<std::int64_t>(table);
    add_integer<std::int32_t>(table);
    add_integer<std::int16_t>(table);
    add_integer<std::int8_t>(table);
    add_integer<std::uint64_t>(table);
    add_integer<std::uint32_t>(table);
    add_integer<std::uint16_t>(table);
    add_integer<std::uint8_t>(table);
    add_boolean(table);
    return table;
}

ReduceKernel number_kernel(Dtype dtype, Kind op) {
    static constexpr Table table = make_table();
    return table[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)];
}

std::int64_t this_target() { return HWY_TARGET; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace trireme {

HWY_EXPORT(number_kernel);
HWY_EXPORT(this_target);

ReduceKernel find_number_kernel(Dtype dtype, ReduceOp::Kind op) noexcept {
    return HWY_DYNAMIC_DISPATCH(number_kernel)(dtype, op);
}

std::string_view kernel_target() noexcept {
    return hwy::TargetName(HWY_DYNAMIC_DISPATCH(this_target)());
}

}  // namespace trireme

#endif  // HWY_ONCE
