#include "torch/describe.h"

#include <fmt/ranges.h>

namespace trireme {

std::string describe(const at::Tensor& tensor) {
    if (!tensor.defined()) return "undefined tensor";
    std::string text = c10::toString(tensor.scalar_type());
    text += " tensor";
    if (tensor.is_nested()) return text;
    text += fmt::format(" of sizes [{}]", fmt::join(tensor.sizes(), ", "));
    if (tensor.layout() == at::kStrided) {
        text += fmt::format(" and strides [{}]", fmt::join(tensor.strides(), ", "));
    }
    return text;
}

}  // namespace trireme
