// What the kernels share for each instruction set. Highway includes this once per set, so the guard
// is a toggle; "reduce/targets.h" and <hwy/foreach_target.h> come before it.
#if defined(TRIREME_REDUCE_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIREME_REDUCE_VECTORS_INL_H
#undef TRIREME_REDUCE_VECTORS_INL_H
#else
#define TRIREME_REDUCE_VECTORS_INL_H
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

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

/// The loop of a reduction. An operation says the same thing twice: `many` for a vector of T, `one`
/// for an element, which may be a pair of T.
template <class T, class Operation, class Element = T>
void reduce(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
    static_assert(16 % sizeof(Element) == 0);
    const std::size_t bytes = count * sizeof(Element);
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
    for (; at < bytes; at += sizeof(Element)) {
        store_one(Operation::one(load_one<Element>(a + at), load_one<Element>(b + at)), out + at);
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#endif  // the toggle
