#pragma once

#include <torch/torch.h>

#include <vector>

#include "verify/options.h"

/// The model as one process computes it: what the parallel ones are compared with.
namespace trireme::verify {

/// One layer: y = W2 gelu(W1 x + b1) + b2, where x and y are [..., hidden].
class MlpImpl : public torch::nn::Module {
public:
    MlpImpl(const Sizes& sizes, at::Generator generator);
    at::Tensor forward(const at::Tensor& x) { return fc2(at::gelu(fc1(x))); }

    torch::nn::Linear fc1;  // weight [intermediate, hidden]
    torch::nn::Linear fc2;  // weight [hidden, intermediate]
};
TORCH_MODULE(Mlp);

/// `sizes.layers` layers; the same `seed` gives the same weights on every rank.
[[nodiscard]] std::vector<Mlp> make_layers(const Sizes& sizes, std::uint64_t seed);

/// Runs `x` through all of `layers`, in order.
template <class Layers>
at::Tensor run_through(Layers& layers, at::Tensor x) {
    for (auto& layer : layers) x = layer->forward(x);
    return x;
}

/// What stage `stage` of `stages` passes on, computed by one process.
[[nodiscard]] at::Tensor output_of_stage(std::vector<Mlp> layers, int stage, int stages,
                                         const at::Tensor& x);

/// Inputs and what the outputs should be, both [batch, sequence, hidden].
struct Batch {
    at::Tensor inputs;
    at::Tensor targets;
};

/// The batch of replica `replica`; the same on every rank that asks for it.
[[nodiscard]] Batch make_batch(const Sizes& sizes, std::int64_t replica);

/// The batches of replicas 0 to `replicas` - 1, joined.
[[nodiscard]] Batch make_joined_batch(const Sizes& sizes, std::int64_t replicas);

/// Half the squared distance, summed over a token's features and averaged over `tokens`. Large
/// enough that gradients stand far above the tolerance.
[[nodiscard]] at::Tensor squared_error(const at::Tensor& outputs, const at::Tensor& targets,
                                       std::int64_t tokens);

}  // namespace trireme::verify
