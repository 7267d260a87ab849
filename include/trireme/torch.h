#pragma once

#include <ATen/core/Tensor.h>

#include "trireme/trireme.h"

namespace trireme {

/// Lets every operation take tensors: `group.all_reduce(tensor)`.
///
/// A contiguous tensor is moved in its own memory. Any other one (a column, a transposed matrix,
/// channels-last) moves as a contiguous copy in row-major order, as `tensor.contiguous()` lays it
/// out; an operation that writes copies the result back and leaves the gaps between the elements
/// alone. Any shape will do, with no dimension or no element too; operations look at the number of
/// elements only.
///
/// A tensor that a started operation uses is kept alive until its `Work` ends; memory that the
/// tensor only borrows itself (`torch::from_blob` without a deleter) is waited for, as a span is.
///
/// Operations record no gradient: see `trireme/autograd.h` for those that do. Writing to a tensor
/// raises its version counter, so that autograd notices if it had saved the old values.
///
/// Throws, before anything is sent,
/// - `invalid_argument` for an undefined tensor; for one without memory (meta, freed storage); for
///   a target whose elements share memory, such as an expanded tensor; for a target that requires
///   grad while gradients are recorded: write to `tensor.detach()`, or under
///   `torch::NoGradGuard`;
/// - `unsupported` for sparse, nested and quantised tensors, for dtypes that are not in
///   `trireme/dtype.h`, and for tensors that are not in host memory.
///
/// Counterpart: the tensor arguments of torch.distributed.
template <>
struct OperandTraits<at::Tensor> {
    static Operand make(const at::Tensor& tensor, Access access, Hold hold);
};

/// The dtype under which tensors of `type` travel; throws `unsupported`, naming it, for a type
/// that has none (quantised types, the 8-bit floats but e4m3fn and e5m2, and others).
[[nodiscard]] Dtype to_dtype(at::ScalarType type);

/// The type of a tensor that holds elements of `dtype`.
[[nodiscard]] at::ScalarType to_scalar_type(Dtype dtype);

}  // namespace trireme
