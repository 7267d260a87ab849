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
//     inf - inf) it came from;
//   - min and max give NaN if either operand is NaN; min(-0, +0) is -0 and max(-0, +0) is +0.

/// out[i] = a[i] op b[i] for `count` elements. `out` may be exactly `a` or exactly `b`, and must
/// not overlap them otherwise. No alignment is needed.
using ReduceKernel = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                              std::size_t count);

/// The kernel of a pair, the fastest that this processor can run. Null where the pair has no
/// meaning (avg of integers) or no kernel (float16, bfloat16, boolean).
///
/// For avg this is the sum; `divide` is its second half.
[[nodiscard]] ReduceKernel find_kernel(Dtype dtype, ReduceOp op) noexcept;

/// data[i] /= divisor, rounded once: the second half of avg. `divisor` is at least one, and
/// `find_kernel(dtype, avg)` must not be null. No alignment is needed.
void divide(Dtype dtype, std::byte* data, std::size_t count, std::size_t divisor) noexcept;

/// The instruction set that `find_kernel` chooses on this processor: "AVX2", "NEON", ...
[[nodiscard]] std::string_view kernel_target() noexcept;

}  // namespace trireme
