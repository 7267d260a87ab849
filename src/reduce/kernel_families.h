#pragma once

#include "reduce/kernel.h"

namespace trireme {

// Where `find_kernel` looks, one file per family. Each wants a pair that is `reducible`.

/// Floating-point numbers, integers and booleans.
[[nodiscard]] ReduceKernel find_number_kernel(Dtype dtype, ReduceOp::Kind op) noexcept;
[[nodiscard]] ReduceKernel find_complex_kernel(Dtype dtype, ReduceOp::Kind op) noexcept;
[[nodiscard]] ReduceKernel find_located_kernel(Dtype dtype, ReduceOp::Kind op) noexcept;

}  // namespace trireme
