#pragma once

#include <cstddef>
#include <string_view>

#include "trireme/dtype.h"
#include "trireme/reduce_op.h"

namespace trireme {

// The arithmetic of every reduction, in one table: dtype x reduce op. Algorithms look a kernel up
// once per operation and then see only bytes, so no algorithm is written per dtype.
//
// Which operand comes first, how the data is cut into pieces and which instruction set the machine
// has must not show in the result, or two ranks would disagree about one sum. So for every pair:
//   - a op b and b op a are the same bits, on every target, in the vectors and in the tail;
//   - integers wrap around;
//   - a floating-point result that is NaN is always the same positive quiet NaN, whatever NaN (or
//     inf - inf) it came from; of a complex number each part for itself;
//   - min and max give NaN if either operand is NaN; min(-0, +0) is -0 and max(-0, +0) is +0;
//   - of located values that are equal (or both NaN) the lower index wins; a NaN beats a number, in
//     min and in max;
//   - booleans are 0 or 1 afterwards, whatever non-zero byte stood for true: sum and max are or,
//     prod and min are and;
//   - nothing is contracted to a fused multiply-add.

/// out[i] = a[i] op b[i] for `count` elements. `out` may be exactly `a` or exactly `b`, and must
/// not overlap them otherwise. No alignment is needed.
using ReduceKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                              std::size_t count);

/// The kernel of a pair, the fastest that this processor can run. Null where the pair has no
/// meaning (see `reducible`), and for float16 and bfloat16, which are widened first.
///
/// For avg and premul_sum this is the sum; `divide` and `scale` are their other halves.
[[nodiscard]] ReduceKernel find_kernel(Dtype dtype, ReduceOp::Kind op) noexcept;

/// Whether a reduction has a meaning for a dtype. Of floating-point dtypes: sum, prod, min, max,
/// avg, premul_sum. Of integers: sum, prod, min, max, bitwise, logical. Of booleans the same. Of
/// complex: sum, prod, avg. Of located: min, max. Of those that are only moved: none. A user's own
/// op takes everything that is not only moved.
[[nodiscard]] bool reducible(Dtype dtype, ReduceOp::Kind op) noexcept;

/// data[i] /= divisor, rounded once: the second half of avg, for float32, float64 and the complex
/// dtypes. `divisor` is at least one. No alignment is needed.
void divide(Dtype dtype, std::byte* data, std::size_t count, std::size_t divisor) noexcept;

/// out[i] = data[i] * factor, rounded once: the first half of premul_sum, for float32 and float64.
/// The factor is rounded to the dtype first. `out` may be `data`. No alignment is needed.
void scale(Dtype dtype, const std::byte* data, double factor, std::byte* out,
           std::size_t count) noexcept;

/// The dtype in which a reduction is computed: float32 for float16 and bfloat16, else the same.
[[nodiscard]] constexpr Dtype accumulation_dtype(Dtype dtype) noexcept {
    return dtype == Dtype::float16 || dtype == Dtype::bfloat16 ? Dtype::float32 : dtype;
}

/// float16 or bfloat16 to float32, exactly.
void widen(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) noexcept;

/// float32 to float16 or bfloat16, to the nearest, ties to even; beyond the range to infinity; NaN
/// to the positive quiet NaN.
void narrow(Dtype dtype, const std::byte* from, std::byte* to, std::size_t count) noexcept;

/// The instruction set that `find_kernel` chooses on this processor: "AVX2", "NEON", ...
[[nodiscard]] std::string_view kernel_target() noexcept;

}  // namespace trireme
