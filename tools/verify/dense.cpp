#include "verify/dense.h"

#include <cmath>

namespace trireme::verify {

namespace {

at::Generator generator(std::uint64_t seed) {
    return at::make_generator<at::CPUGeneratorImpl>(seed);
}

/// Fills with normal numbers of standard deviation `deviation`.
void fill(at::Tensor& parameter, double deviation, const at::Generator& generator) {
    const torch::NoGradGuard no_grad;
    parameter.normal_(0.0, deviation, generator);
}

}  // namespace

// The deviations keep the outputs of each layer about as large as its inputs.
MlpImpl::MlpImpl(const Sizes& sizes, at::Generator generator)
    : fc1(register_module("fc1", torch::nn::Linear(sizes.hidden, sizes.intermediate))),
      fc2(register_module("fc2", torch::nn::Linear(sizes.intermediate, sizes.hidden))) {
    fill(fc1->weight, 1.0 / std::sqrt(sizes.hidden), generator);
    fill(fc1->bias, 0.2, generator);
    fill(fc2->weight, std::sqrt(2.0 / static_cast<double>(sizes.intermediate)), generator);
    fill(fc2->bias, 0.2, generator);
}

std::vector<Mlp> make_layers(const Sizes& sizes, std::uint64_t seed) {
    const at::Generator numbers = generator(seed);
    std::vector<Mlp> layers;
    for (std::int64_t i = 0; i < sizes.layers; ++i) layers.emplace_back(sizes, numbers);
    return layers;
}

at::Tensor output_of_stage(std::vector<Mlp> layers, int stage, int stages, const at::Tensor& x) {
    const std::size_t per_stage = layers.size() / static_cast<std::size_t>(stages);
    layers.resize(per_stage * static_cast<std::size_t>(stage + 1), Mlp{nullptr});
    return run_through(layers, x);
}

Batch make_batch(const Sizes& sizes, std::int64_t replica) {
    const at::Generator numbers = generator(1'000 + static_cast<std::uint64_t>(replica));
    const std::vector<std::int64_t> shape{sizes.batch, sizes.sequence, sizes.hidden};
    at::Tensor inputs = at::randn(shape, numbers);
    at::Tensor targets = at::randn(shape, numbers);
    return {std::move(inputs), std::move(targets)};
}

Batch make_joined_batch(const Sizes& sizes, std::int64_t replicas) {
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> targets;
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
        const Batch batch = make_batch(sizes, replica);
        inputs.push_back(batch.inputs);
        targets.push_back(batch.targets);
    }
    return {at::cat(inputs), at::cat(targets)};
}

at::Tensor squared_error(const at::Tensor& outputs, const at::Tensor& targets,
                         std::int64_t tokens) {
    return (outputs - targets).square().sum() / (2.0 * static_cast<double>(tokens));
}

}  // namespace trireme::verify
