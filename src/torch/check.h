#pragma once

#include <ATen/core/Tensor.h>

#include "trireme/dtype.h"

namespace trireme {

/// Throws unless the tensor has elements in memory of this host, laid out by strides. Returns their
/// dtype.
Dtype check_readable(const at::Tensor& tensor);

/// Throws unless an operation may also write to the tensor, which has passed `check_readable`.
void check_writable(const at::Tensor& tensor);

}  // namespace trireme
