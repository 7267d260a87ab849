#include "verify/pipeline.h"

#include <torch/torch.h>

#include <utility>

#include "trireme/torch.h"

namespace trireme::verify {

namespace {

constexpr Tag activation_tag{0};
constexpr Tag gradient_tag{1};

}  // namespace

PipelineStage::PipelineStage(Layers layers, Group group)
    : layers_(std::move(layers)), group_(std::move(group)) {}

at::Tensor PipelineStage::inputs_of(const std::vector<at::Tensor>& inputs,
                                    std::size_t micro_batch) const {
    if (is_first()) return inputs[micro_batch];
    return group_.recv_tensor(previous(), activation_tag);
}

std::vector<at::Tensor> PipelineStage::forward(const std::vector<at::Tensor>& inputs) const {
    const torch::NoGradGuard no_grad;
    std::vector<at::Tensor> outputs;
    for (std::size_t m = 0; m < inputs.size(); ++m) {
        outputs.push_back(layers_(inputs_of(inputs, m)));
        if (!is_last()) group_.send_tensor(outputs.back(), next(), activation_tag);
    }
    return outputs;
}

at::Tensor PipelineStage::forward_backward(const std::vector<at::Tensor>& inputs,
                                           const Loss& loss) const {
    std::vector<at::Tensor> received(inputs.size());
    std::vector<at::Tensor> ends(inputs.size());  // where backward starts: outputs, or losses
    at::Tensor sum_of_losses = at::zeros({});
    for (std::size_t m = 0; m < inputs.size(); ++m) {
        received[m] = inputs_of(inputs, m);
        if (!is_first()) received[m].requires_grad_();
        ends[m] = layers_(received[m]);
        if (is_last()) {
            ends[m] = loss(ends[m], m);
            sum_of_losses += ends[m].detach();
        } else {
            group_.send_tensor(ends[m], next(), activation_tag);
        }
    }
    for (std::size_t m = 0; m < inputs.size(); ++m) {
        if (is_last()) {
            ends[m].backward();
        } else {
            ends[m].backward(group_.recv_tensor(next(), gradient_tag));
        }
        if (!is_first()) group_.send_tensor(received[m].grad(), previous(), gradient_tag);
    }
    group_.broadcast(sum_of_losses, Root{group_.size() - 1});
    return sum_of_losses;
}

}  // namespace trireme::verify
