// Compiled once per instruction set: see number.cpp.
#include <complex>

#include "reduce/kernel_families.h"
#include "reduce/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/complex.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reduce/vectors_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trireme {
namespace HWY_NAMESPACE {
namespace {

// A vector holds real and imaginary parts in turn, the real ones in the even lanes.

struct ComplexSum {
    template <class T>
    static std::complex<T> one(std::complex<T> a, std::complex<T> b) {
        return {settle_nan(a.real() + b.real()), settle_nan(a.imag() + b.imag())};
    }
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        return settle_nan(d, hn::Add(a, b));
    }
};

/// By the school formula. The multiplication of std::complex would repair the NaN of infinite
/// operands, in ways that differ between libraries. Exchanging a and b exchanges the factors of
/// each product and the summands of the imaginary part, and so changes no bit, as long as nothing
/// is fused.
struct ComplexProd {
    template <class T>
    static std::complex<T> one(std::complex<T> a, std::complex<T> b) {
        return {settle_nan(a.real() * b.real() - a.imag() * b.imag()),
                settle_nan(a.real() * b.imag() + a.imag() * b.real())};
    }
#if TRIREME_VECTORS  // one lane has no even and odd ones
    template <class D>
    static hn::Vec<D> many(D d, hn::Vec<D> a, hn::Vec<D> b) {
        const auto x = hn::Mul(hn::DupEven(a), b);                  // ar * br, ar * bi
        const auto y = hn::Mul(hn::DupOdd(a), hn::Reverse2(d, b));  // ai * bi, ai * br
        return settle_nan(d, hn::OddEven(hn::Add(x, y), hn::Sub(x, y)));
    }
#endif
};

template <class T>
ReduceKernel kernel_of_parts(ReduceOp::Kind op) {
    return op == ReduceOp::Kind::prod ? &reduce<T, ComplexProd, std::complex<T>>
                                      : &reduce<T, ComplexSum, std::complex<T>>;
}

ReduceKernel complex_kernel(Dtype dtype, ReduceOp::Kind op) {
    return dtype == Dtype::complex128 ? kernel_of_parts<double>(op) : kernel_of_parts<float>(op);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace trireme
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace trireme {

HWY_EXPORT(complex_kernel);

ReduceKernel find_complex_kernel(Dtype dtype, ReduceOp::Kind op) noexcept {
    return HWY_DYNAMIC_DISPATCH(complex_kernel)(dtype, op);
}

}  // namespace trireme

#endif  // HWY_ONCE
