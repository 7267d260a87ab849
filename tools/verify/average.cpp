#include "verify/average.h"

#include <torch/torch.h>

#include "trireme/torch.h"

namespace trireme::verify {

void average_gradients(const std::vector<at::Tensor>& parameters, const Group& group) {
    const torch::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad().flatten());
    const at::Tensor flat = at::cat(gradients);
    group.all_reduce(flat, avg);
    std::int64_t offset = 0;
    for (const at::Tensor& parameter : parameters) {
        at::Tensor gradient = parameter.grad();
        gradient.copy_(flat.narrow(0, offset, gradient.numel()).view_as(gradient));
        offset += gradient.numel();
    }
}

}  // namespace trireme::verify
