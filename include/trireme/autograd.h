#pragma once

#include <ATen/core/Tensor.h>

#include "trireme/group.h"

/// Communication that autograd understands: the two ends of a region in which each member of a
/// group computes a part (Megatron's f and g). Each is the other's backward:
///
/// | function                      | forward         | backward        |
/// |-------------------------------|-----------------|-----------------|
/// | `copy_to_parallel_region`     | nothing         | all_reduce, sum |
/// | `reduce_from_parallel_region` | all_reduce, sum | nothing         |
///
/// Between them, each member's gradients are those of its own part, and outside, all members hold
/// the same values and the same gradients:
/// ```
/// x = copy_to_parallel_region(x, tp);
/// y = torch::linear(torch::gelu(torch::linear(x, my_rows_of_w1)), my_columns_of_w2);
/// y = reduce_from_parallel_region(y, tp);
/// ```
/// Forward and backward block until this rank's part is done; every member must run both, and
/// those of several regions in the same order. Both may be differentiated again. Tensors may have
/// any shape and strides; floating-point dtypes only, since others have no gradient.
///
/// Both throw what `Group::all_reduce` throws, in the direction that communicates: from
/// `backward()` too, naming the place of the forward call.
namespace trireme {

/// Enters a parallel region: returns `x`, which all members hold alike; its gradient is the sum of
/// all members' gradients. Counterpart: Megatron's copy_to_tensor_model_parallel_region.
[[nodiscard]] at::Tensor copy_to_parallel_region(const at::Tensor& x, const Group& group,
                                                 Site site = Site::current());

/// Leaves a parallel region: returns the sum of all members' `x`, a new contiguous tensor; its
/// gradient goes to every member unchanged. Counterpart: Megatron's
/// reduce_from_tensor_model_parallel_region.
[[nodiscard]] at::Tensor reduce_from_parallel_region(const at::Tensor& x, const Group& group,
                                                     Site site = Site::current());

}  // namespace trireme
