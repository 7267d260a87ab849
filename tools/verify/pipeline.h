#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "trireme/group.h"

namespace trireme::verify {

/// One stage of a pipeline: rank s of the group holds the layers of stage s, the first rank gets
/// the inputs and the last one computes the loss.
///
/// Micro-batches run in the order of GPipe: all forward, each stage sending its outputs on to the
/// next one, then all backward, each stage sending the gradients of its inputs back.
class PipelineStage {
public:
    using Layers = std::function<at::Tensor(const at::Tensor& inputs)>;
    using Loss = std::function<at::Tensor(const at::Tensor& outputs, std::size_t micro_batch)>;

    PipelineStage(Layers layers, Group group);

    /// Runs the micro-batches forward and returns this stage's outputs. Only their number matters
    /// on other stages than the first, which receive theirs.
    [[nodiscard]] std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) const;

    /// Runs the micro-batches forward and backward: adds to the gradients of this stage's
    /// parameters. Returns the sum of the losses, on every stage.
    at::Tensor forward_backward(const std::vector<at::Tensor>& inputs, const Loss& loss) const;

private:
    [[nodiscard]] bool is_first() const noexcept { return group_.rank() == 0; }
    [[nodiscard]] bool is_last() const noexcept { return group_.rank() == group_.size() - 1; }
    [[nodiscard]] Peer previous() const noexcept { return Peer{group_.rank() - 1}; }
    [[nodiscard]] Peer next() const noexcept { return Peer{group_.rank() + 1}; }
    [[nodiscard]] at::Tensor inputs_of(const std::vector<at::Tensor>& inputs,
                                       std::size_t micro_batch) const;

    Layers layers_;
    Group group_;
};

}  // namespace trireme::verify
