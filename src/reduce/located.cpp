#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/kernel_families.h"

namespace trireme {
namespace {

template <class T>
bool is_nan(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
    return false;
}

template <class T>
bool is_negative(T value) {
    if constexpr (std::is_floating_point_v<T>) return std::signbit(value);
    return value < 0;
}

/// Whether `a` is the result rather than `b`. A total order except for operands that differ in
/// nothing but the payload of a NaN, so that the order of operands does not show.
template <bool smallest, class T>
bool goes_first(const Located<T>& a, const Located<T>& b) {
    if (is_nan(a.value) != is_nan(b.value)) return is_nan(a.value);
    if (a.value < b.value) return smallest;
    if (b.value < a.value) return !smallest;
    if (a.index != b.index) return a.index < b.index;
    return is_negative(a.value) == smallest;  // zeros of either sign at one index
}

template <class T, bool smallest>
void reduce_located(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
    // No vectors: the mask of a compare would have to be shuffled onto value and index.
    constexpr std::size_t size = sizeof(Located<T>);
    for (std::size_t at = 0; at < count * size; at += size) {
        Located<T> x;
        Located<T> y;
        std::memcpy(&x, a + at, size);
        std::memcpy(&y, b + at, size);
        Located<T> first = goes_first<smallest>(x, y) ? x : y;
        if (is_nan(first.value)) first.value = std::numeric_limits<T>::quiet_NaN();
        std::memcpy(out + at, &first, size);
    }
}

template <class T>
ReduceKernel kernel_of(ReduceOp::Kind op) {
    return op == ReduceOp::Kind::min ? &reduce_located<T, true> : &reduce_located<T, false>;
}

}  // namespace

ReduceKernel find_located_kernel(Dtype dtype, ReduceOp::Kind op) noexcept {
    switch (dtype) {
        case Dtype::located_float64: return kernel_of<double>(op);
        case Dtype::located_float32: return kernel_of<float>(op);
        case Dtype::located_int64: return kernel_of<std::int64_t>(op);
        case Dtype::located_int32: return kernel_of<std::int32_t>(op);
        default: return nullptr;
    }
}

}  // namespace trireme
