#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "trireme/group.h"

namespace trireme::verify {

/// Replaces the gradient of each parameter by its average over the ranks of `group`, by one
/// all_reduce of all of them. Every parameter must have a gradient, of one dtype.
void average_gradients(const std::vector<at::Tensor>& parameters, const Group& group);

}  // namespace trireme::verify
