// Highway compiles this file once per instruction set: foreach_target.h includes it again and
// again, each time with another HWY_NAMESPACE. What lies outside of HWY_NAMESPACE is therefore
// guarded, and the standard headers come first so that they are compiled for the baseline only.
#include "reduce/kernel.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#ifndef HWY_DISABLED_TARGETS
// Processors that have SSSE3 but not SSE4 are rare; they take the scalar loop.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TRIREME_REDUCE_KERNEL_TABLE
#define TRIREME_REDUCE_KERNEL_TABLE

namespace trireme {
namespace {

constexpr std::size_t dtype_count = 0
#define TRIREME_ROW(name, bytes) +1
    TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    ;
constexpr std::size_t op_count = static_cast<std::size_t>(ReduceOp::Kind::avg) + 1;

using DivideKernel = void (*)(std::byte* data, std::size_t count, std::size_t divisor);

/// All kernels of one instruction set.
struct KernelTable {
    std::array<std::array<ReduceKernel, op_count>, dtype_count> reduce{};
    std::array<DivideKernel, dtype_count> divide{};
    std::int64_t target = 0;  // Highway's HWY_TARGET
};

}  // namespace
}  // namespace trireme

#endif  // TRIREME_REDUCE_KERNEL_TABLE

// Highway's own emulations are one lane or slow; there the plain loop below is the better code.
#undef TRIREME_VECTORS
#define TRIREME_VECTORS (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

HWY_BEFORE_NAMESPACE();
namespace trireme {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Elements are addressed as bytes throughout: a buffer may start at any address, and a pointer to
// a misaligned float would already be undefined.

template <class T>
T load_one(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store_one(T value, std::byte* to) {
    std::memcpy(to, &value, sizeof value);
}

template <class D>
hn::Vec<D> load(D d, const std::byte* from) {
    const hn::Repartition<std::uint8_t, D> bytes;
    return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D>
void store(D d, hn::Vec<D> value, std::byte* to) {
    const hn::Repartition<std::uint8_t, D> bytes;
    static_cast<void>(d);
    hn::StoreU(hn::BitCast(bytes, value), bytes, reinterpret_cast<std::uint8_t*>(to));
}

template <class T>
inline constexpr T the_nan = std::numeric_limits<T>::quiet_NaN();

// Which of two NaNs an addition hands on, and of which sign inf - inf is, depends on the operand
// order and on the processor. One fixed NaN depends on nothing.

template <class T>
T settle_nan(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(value) ? the_nan<T> : value;
    return value;
}

/// `value` where `good`, else the one NaN. Without AVX-512 a blend is three instructions on some
/// processors, and masks are vectors, so that the same is done faster by `and` and `or`.
template <class D, class Mask>
hn::Vec<D> nan_unless(D d, Mask good, hn::Vec<D> value) {
    const hn::Vec<D> nan = hn::Set(d, the_nan<hn::TFromD<D>>);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3  // a smaller number is a better target
    const hn::Vec<D> keep = hn::VecFromMask(d, good);
    return hn::Or(hn::And(keep, value), hn::AndNot(keep, nan));
#else
    return hn::IfThenElse(good, value, nan);
#endif
}

template <class D>
hn::Vec<D> settle_nan(D d, hn::Vec<D> value) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
        return nan_unless(d, hn::Eq(value, value), value);
    }
    return value;
}

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

template <class T, class Operation>
void reduce(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::size_t at = 0;
#if TRIREME_VECTORS
    const hn::ScalableTag<T> d;
    const std::size_t step = hn::Lanes(d) * sizeof(T);
    for (; bytes - at >= 2 * step; at += 2 * step) {
        const auto first = Operation::many(d, load(d, a + at), load(d, b + at));
        const auto second = Operation::many(d, load(d, a + at + step), load(d, b + at + step));
        store(d, first, out + at);
        store(d, second, out + at + step);
    }
    // The rest in short vectors, so that at most 15 bytes are left to go one by one.
    const hn::CappedTag<T, 16 / sizeof(T)> s;
    const std::size_t short_step = hn::Lanes(s) * sizeof(T);
    for (; bytes - at >= short_step; at += short_step) {
        store(s, Operation::many(s, load(s, a + at), load(s, b + at)), out + at);
    }
#endif
    for (; at < bytes; at += sizeof(T)) {
        store_one(Operation::one(load_one<T>(a + at), load_one<T>(b + at)), out + at);
    }
}

template <class T>
void divide_all(std::byte* data, std::size_t count, std::size_t divisor) {
    const std::size_t bytes = count * sizeof(T);
    const T by = static_cast<T>(divisor);
    std::size_t at = 0;
#if TRIREME_VECTORS
    const hn::ScalableTag<T> d;
    const std::size_t step = hn::Lanes(d) * sizeof(T);
    const auto all_by = hn::Set(d, by);
    for (; bytes - at >= step; at += step) {
        store(d, settle_nan(d, hn::Div(load(d, data + at), all_by)), data + at);
    }
#endif
    for (; at < bytes; at += sizeof(T)) {
        store_one(settle_nan(load_one<T>(data + at) / by), data + at);
    }
}

template <class T>
constexpr void add_row(KernelTable& table) {
    const auto dtype = static_cast<std::size_t>(dtype_of<T>);
    auto& row = table.reduce[dtype];
    row[static_cast<std::size_t>(ReduceOp::Kind::sum)] = &reduce<T, Sum>;
    row[static_cast<std::size_t>(ReduceOp::Kind::prod)] = &reduce<T, Prod>;
    row[static_cast<std::size_t>(ReduceOp::Kind::min)] = &reduce<T, Min>;
    row[static_cast<std::size_t>(ReduceOp::Kind::max)] = &reduce<T, Max>;
    if constexpr (std::is_floating_point_v<T>) {
        row[static_cast<std::size_t>(ReduceOp::Kind::avg)] = &reduce<T, Sum>;
        table.divide[dtype] = &divide_all<T>;
    }
}

constexpr KernelTable make_table() {
    KernelTable table;
    add_row<double>(table);
    add_row<float>(table);
    add_row<std::int64_t>(table);
    add_row<std::int32_t>(table);
    add_row<std::int16_t>(table);
    add_row<std::int8_t>(table);
    add_row<std::uint8_t>(table);
    table.target = HWY_TARGET;
    return table;
}

const KernelTable& kernel_table() {
    static constexpr KernelTable table = make_table();
    return table;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace trireme {

HWY_EXPORT(kernel_table);

ReduceKernel find_kernel(Dtype dtype, ReduceOp op) noexcept {
    const KernelTable& table = HWY_DYNAMIC_DISPATCH(kernel_table)();
    return table.reduce[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op.kind())];
}

void divide(Dtype dtype, std::byte* data, std::size_t count, std::size_t divisor) noexcept {
    const KernelTable& table = HWY_DYNAMIC_DISPATCH(kernel_table)();
    const DivideKernel kernel = table.divide[static_cast<std::size_t>(dtype)];
    assert(kernel != nullptr && divisor > 0);
    kernel(data, count, divisor);
}

std::string_view kernel_target() noexcept {
    return hwy::TargetName(HWY_DYNAMIC_DISPATCH(kernel_table)().target);
}

}  // namespace trireme

#endif  // HWY_ONCE
