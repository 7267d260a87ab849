// The halves of avg and premul_sum that are no reduction. Compiled once per instruction set: see
// number.cpp.
#include <cassert>
#include <cstddef>

#include "reduce/kernel.h"
#include "reduce/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/scale.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce/vectors_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme {
namespace HWY_NAMESPACE {
namespace {

struct Quotient {
    template <class T>
    static T one(T a, T b) {
        return a / b;
    }
    template <class V>
    static V many(V a, V b) {
        return hn::Div(a, b);
    }
};

struct Product {
    template <class T>
    static T one(T a, T b) {
        return a * b;
    }
    template <class V>
    static V many(V a, V b) {
        return hn::Mul(a, b);
    }
};

template <class T, class Operation>
void apply(const std::byte* data, T by, std::byte* out, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    std::size_t at = 0;
#if TRIREME_VECTORS
    const hn::ScalableTag<T> d;
    const std::size_t step = hn::Lanes(d) * sizeof(T);
    const auto all_by = hn::Set(d, by);
    for (; bytes - at >= step; at += step) {
        store(d, settle_nan(d, Operation::many(load(d, data + at), all_by)), out + at);
    }
#endif
    for (; at < bytes; at += sizeof(T)) {
        store_one(settle_nan(Operation::one(load_one<T>(data + at), by)), out + at);
    }
}

void divide_data(Dtype dtype, std::byte* data, std::size_t count, std::size_t divisor) {
    const auto in_parts_of = [&]<class T>(T by, std::size_t parts) {
        apply<T, Quotient>(data, by, data, count * parts);
    };
    switch (dtype) {
        case Dtype::float64: return in_parts_of(static_cast<double>(divisor), 1);
        case Dtype::float32: return in_parts_of(static_cast<float>(divisor), 1);
        case Dtype::complex128: return in_parts_of(static_cast<double>(divisor), 2);
        case Dtype::complex64: return in_parts_of(static_cast<float>(divisor), 2);
        default: assert(false && "divide: not a dtype of avg");
    }
}

void scale_data(Dtype dtype, const std::byte* data, double factor, std::byte* out,
                std::size_t count) {
    switch (dtype) {
        case Dtype::float64: return apply<double, Product>(data, factor, out, count);
        case Dtype::float32:
            return apply<float, Product>(data, static_cast<float>(factor), out, count);
        default: assert(false && "scale: not a dtype of premul_sum");
    }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace trireme {

HWY_EXPORT(divide_data);
HWY_EXPORT(scale_data);

void divide(Dtype dtype, std::byte* data, std::size_t count, std::size_t divisor) noexcept {
    assert(divisor > 0);
    HWY_DYNAMIC_DISPATCH(divide_data)(dtype, data, count, divisor);
}

void scale(Dtype dtype, const std::byte* data, double factor, std::byte* out,
           std::size_t count) noexcept {
    HWY_DYNAMIC_DISPATCH(scale_data)(dtype, data, factor, out, count);
}

}  // namespace trireme

#endif  // HWY_ONCE
