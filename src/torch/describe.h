#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace trireme {

/// A tensor as error texts show it: "Float tensor of sizes [3, 4] and strides [0, 1]".
[[nodiscard]] std::string describe(const at::Tensor& tensor);

}  // namespace trireme
