#include "verify/layers.h"

#include <utility>

#include "trireme/autograd.h"

namespace trireme::verify {

namespace {

/// A copy that is trained on its own.
at::Tensor own(const at::Tensor& values) {
    return values.detach().clone(at::MemoryFormat::Contiguous);
}

}  // namespace

at::Tensor part_of(const at::Tensor& whole, std::int64_t dimension, const Group& group) {
    TORCH_CHECK(whole.size(dimension) % group.size() == 0, "dimension ", dimension, " of ",
                whole.sizes(), " does not divide into ", group.size(), " parts");
    const std::int64_t size = whole.size(dimension) / group.size();
    return whole.narrow(dimension, group.rank() * size, size);
}

ColumnParallelLinearImpl::ColumnParallelLinearImpl(const torch::nn::Linear& dense, Group group)
    : weight(register_parameter("weight", own(part_of(dense->weight, 0, group)))),
      bias(register_parameter("bias", own(part_of(dense->bias, 0, group)))),
      group_(std::move(group)) {}

at::Tensor ColumnParallelLinearImpl::forward(const at::Tensor& x) {
    return at::linear(copy_to_parallel_region(x, group_), weight, bias);
}

RowParallelLinearImpl::RowParallelLinearImpl(const torch::nn::Linear& dense, Group group)
    : weight(register_parameter("weight", own(part_of(dense->weight, 1, group)))),
      bias(register_parameter("bias", own(dense->bias))),
      group_(std::move(group)) {}

at::Tensor RowParallelLinearImpl::forward(const at::Tensor& x) {
    return reduce_from_parallel_region(at::linear(x, weight), group_) + bias;
}

ParallelMlpImpl::ParallelMlpImpl(const Mlp& dense, const Group& group)
    : fc1(register_module("fc1", ColumnParallelLinear(dense->fc1, group))),
      fc2(register_module("fc2", RowParallelLinear(dense->fc2, group))) {}

}  // namespace trireme::verify
