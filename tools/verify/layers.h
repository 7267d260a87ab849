#pragma once

#include <torch/torch.h>

#include "trireme/group.h"
#include "verify/dense.h"

/// A layer whose two matrices are split over the ranks of a group, as Megatron does: the first by
/// its outputs, the second by its inputs, so that the two need one all_reduce between them.
namespace trireme::verify {

/// This rank's part of `whole`, cut into `group.size()` equal parts along `dimension`.
[[nodiscard]] at::Tensor part_of(const at::Tensor& whole, std::int64_t dimension,
                                 const Group& group);

/// y = x Wᵀ + b, where this rank holds the rows of W and b that make its part of y's features:
/// [..., in] to [..., out / n]. Backward all_reduces the gradient of x.
class ColumnParallelLinearImpl : public torch::nn::Module {
public:
    /// Takes this rank's part of `dense`.
    ColumnParallelLinearImpl(const torch::nn::Linear& dense, Group group);
    at::Tensor forward(const at::Tensor& x);

    at::Tensor weight;  // [out / n, in]
    at::Tensor bias;    // [out / n]

private:
    Group group_;
};
TORCH_MODULE(ColumnParallelLinear);

/// y = x Wᵀ + b, where x is split by features and this rank holds the columns of W that meet its
/// part: [..., in / n] to [..., out]. Forward all_reduces y, then adds b, which all ranks hold.
class RowParallelLinearImpl : public torch::nn::Module {
public:
    /// Takes this rank's part of `dense`.
    RowParallelLinearImpl(const torch::nn::Linear& dense, Group group);
    at::Tensor forward(const at::Tensor& x);

    at::Tensor weight;  // [out, in / n]
    at::Tensor bias;    // [out]

private:
    Group group_;
};
TORCH_MODULE(RowParallelLinear);

/// `Mlp`, split over a group; in and out are the same on all ranks.
class ParallelMlpImpl : public torch::nn::Module {
public:
    ParallelMlpImpl(const Mlp& dense, const Group& group);
    at::Tensor forward(const at::Tensor& x) { return fc2(at::gelu(fc1(x))); }

    ColumnParallelLinear fc1;
    RowParallelLinear fc2;
};
TORCH_MODULE(ParallelMlp);

}  // namespace trireme::verify
