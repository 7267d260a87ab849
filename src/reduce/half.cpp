// float16 and bfloat16 to float32 and back. Compiled once per instruction set: see number.cpp.
//
// In integer arithmetic everywhere, although some processors convert float16 by themselves: those
// instructions treat NaN otherwise, and the result must not tell where it was computed.
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "reduce/kernel.h"
#include "reduce/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/half.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce/vectors_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme {
namespace HWY_NAMESPACE {
namespace {

using Bits = std::int32_t;  // of a float32; signed, because vectors compare and narrow those better

constexpr Bits exponent(int power) { return (127 + power) << 23; }
constexpr Bits infinity = exponent(128);
constexpr Bits magnitude_mask = 0x7FFF'FFFF;

template <class DI>
hn::Vec<DI> add_as_floats(DI d, hn::Vec<DI> a, hn::Vec<DI> b) {
    const hn::RebindToFloat<DI> f;
    return hn::BitCast(d, hn::Add(hn::BitCast(f, a), hn::BitCast(f, b)));
}

Bits add_as_floats(Bits a, Bits b) {
    return std::bit_cast<Bits>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
}

// float16: 5 bits of exponent biased by 15, 10 of fraction, so 13 fraction bits fewer than float32.
// Its exponent 31 (infinity, NaN) has to become 255, and its subnormal numbers, fraction * 2^-24,
// normal ones: as if the exponent were -14 with a leading one, less that one.

struct HalfFloat {
    static constexpr Bits rebias = exponent(0) - (15 << 23);
    static constexpr Bits least_normal = exponent(-14);
    static constexpr Bits negative = static_cast<Bits>(0x8000'0000U);

    static Bits widen_one(Bits half) {
        const Bits sign = (half & 0x8000) != 0 ? negative : 0;
        const Bits moved = (half & 0x7FFF) << 13;
        Bits value = moved + rebias;
        if (moved >= 31 << 23) value += rebias;
        if (moved < 1 << 23) value = add_as_floats(moved + least_normal, least_normal | negative);
        return value | sign;
    }

    template <class DI>
    static hn::Vec<DI> widen_many(DI d, hn::Vec<DI> half) {
        const auto all = [d](Bits bits) { return hn::Set(d, bits); };
        const auto sign = hn::ShiftLeft<16>(hn::And(half, all(0x8000)));
        const auto moved = hn::ShiftLeft<13>(hn::And(half, all(0x7FFF)));
        const auto special = hn::Gt(moved, all((31 << 23) - 1));
        const auto normal = hn::Add(moved, all(rebias));
        const auto value = hn::Add(normal, hn::IfThenElseZero(special, all(rebias)));
        const auto subnormal =
            add_as_floats(d, hn::Add(moved, all(least_normal)), all(least_normal | negative));
        return hn::Or(sign, hn::IfThenElse(hn::Lt(moved, all(1 << 23)), subnormal, value));
    }

    // Back: adding just less than half of the last place that stays, and that place's bit, carries
    // exactly where ties-to-even rounds up; past the largest number the carry makes infinity. What
    // becomes subnormal is rounded by adding a number whose last place is worth 2^-24.

    static constexpr Bits overflow = exponent(16);
    static constexpr Bits round = 0xFFF - rebias;
    static constexpr Bits magic = exponent(-1);

    static Bits narrow_one(Bits value) {
        const Bits magnitude = value & magnitude_mask;
        if (magnitude > infinity) return 0x7E00;
        Bits half = (magnitude + round + ((magnitude >> 13) & 1)) >> 13;
        if (magnitude >= overflow) half = 0x7C00;
        if (magnitude < least_normal) half = add_as_floats(magnitude, magic) - magic;
        return half | (value < 0 ? 0x8000 : 0);
    }

    template <class DI>
    static hn::Vec<DI> narrow_many(DI d, hn::Vec<DI> value) {
        const auto all = [d](Bits bits) { return hn::Set(d, bits); };
        const auto magnitude = hn::And(value, all(magnitude_mask));
        const auto odd = hn::And(hn::ShiftRight<13>(magnitude), all(1));
        const auto rounded = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, all(round)), odd));
        const auto subnormal = hn::Sub(add_as_floats(d, magnitude, all(magic)), all(magic));
        const auto large = hn::Gt(magnitude, all(overflow - 1));
        const auto finite =
            hn::IfThenElse(hn::Lt(magnitude, all(least_normal)), subnormal, rounded);
        const auto sign = hn::And(hn::ShiftRight<16>(value), all(0x8000));
        const auto half = hn::Or(sign, hn::IfThenElse(large, all(0x7C00), finite));
        return hn::IfThenElse(hn::Gt(magnitude, all(infinity)), all(0x7E00), half);
    }
};

// bfloat16 is the upper half of float32.

struct BrainFloat {
    static Bits widen_one(Bits half) {
        return static_cast<Bits>(static_cast<std::uint32_t>(half) << 16);
    }

    template <class DI>
    static hn::Vec<DI> widen_many(DI, hn::Vec<DI> half) {
        return hn::ShiftLeft<16>(half);
    }

    static Bits narrow_one(Bits value) {
        const Bits magnitude = value & magnitude_mask;
        if (magnitude > infinity) return 0x7FC0;
        const Bits half = (magnitude + 0x7FFF + ((magnitude >> 16) & 1)) >> 16;
        return half | (value < 0 ? 0x8000 : 0);
    }

    template <class DI>
    static hn::Vec<DI> narrow_many(DI d, hn::Vec<DI> value) {
        const auto all = [d](Bits bits) { return hn::Set(d, bits); };
        const auto magnitude = hn::And(value, all(magnitude_mask));
        const auto odd = hn::And(hn::ShiftRight<16>(magnitude), all(1));
        const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(magnitude, all(0x7FFF)), odd));
        const auto half = hn::Or(hn::And(hn::ShiftRight<16>(value), all(0x8000)), rounded);
        return hn::IfThenElse(hn::Gt(magnitude, all(infinity)), all(0x7FC0), half);
    }
};

template <class Format>
void widen_all(const std::byte* from, std::byte* to, std::size_t count) {
    std::size_t i = 0;
#if TRIREME_VECTORS
    const hn::ScalableTag<Bits> d;
    const hn::Rebind<std::uint16_t, decltype(d)> halves;
    for (; count - i >= hn::Lanes(d); i += hn::Lanes(d)) {
        const auto half = hn::PromoteTo(d, load(halves, from + 2 * i));
        store(d, Format::widen_many(d, half), to + 4 * i);
    }
#endif
    for (; i < count; ++i) {
        store_one(Format::widen_one(load_one<std::uint16_t>(from + 2 * i)), to + 4 * i);
    }
}

template <class Format>
void narrow_all(const std::byte* from, std::byte* to, std::size_t count) {
    std::size_t i = 0;
#if TRIREME_VECTORS
    const hn::ScalableTag<Bits> d;
    const hn::Rebind<std::uint16_t, decltype(d)> halves;
    for (; count - i >= hn::Lanes(d); i += hn::Lanes(d)) {
        const auto half = Format::narrow_many(d, load(d, from + 4 * i));
        store(halves, hn::DemoteTo(halves, half), to + 2 * i);
    }
#endif
    for (; i < count; ++i) {
        const Bits half = Format::narrow_one(load_one<Bits>(from + 4 * i));
        store_one(static_cast<std::uint16_t>(half), to + 2 * i);
    }
}

void widen_data(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) {
    switch (dtype) {
        case Dtype::float16: return widen_all<HalfFloat>(from, to, count);
        case Dtype::bfloat16: return widen_all<BrainFloat>(from, to, count);
        default: assert(false && "widen: not a half");
    }
}

void narrow_data(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) {
    switch (dtype) {
        case Dtype::float16: return narrow_all<HalfFloat>(from, to, count);
        case Dtype::bfloat16: return narrow_all<BrainFloat>(from, to, count);
        default: assert(false && "narrow: not a half");
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace trireme {

HWY_EXPORT(widen_data);
HWY_EXPORT(narrow_data);

void widen(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) noexcept {
    HWY_DYNAMIC_DISPATCH(widen_data)(dtype, from, to, count);
}

void narrow(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) noexcept {
    HWY_DYNAMIC_DISPATCH(narrow_data)(dtype, from, to, count);
}

}  // namespace trireme

#endif  // HWY_ONCE
