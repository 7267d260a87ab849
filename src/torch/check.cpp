#include "torch/check.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "torch/describe.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

[[noreturn]] void refuse(ErrorCode code, const at::Tensor& tensor, const std::string& why) {
    throw Error(code, describe(tensor) + " " + why);
}

/// Whether two elements of the tensor share memory.
bool overlaps_itself(const at::Tensor& tensor) {
    if (tensor.numel() < 2) return false;
    switch (at::has_internal_overlap(tensor)) {
        case at::MemOverlap::No: return false;
        case at::MemOverlap::Yes: return true;
        case at::MemOverlap::TooHard: break;
    }
    // Mostly each stride passes over all that lies within, and nothing needs to be counted.
    std::vector<std::pair<std::int64_t, std::int64_t>> by_stride;
    for (std::int64_t d = 0; d < tensor.dim(); ++d) {
        if (tensor.size(d) > 1) by_stride.emplace_back(tensor.stride(d), tensor.size(d));
    }
    std::sort(by_stride.begin(), by_stride.end());
    std::int64_t reach = 0;  // the offset of the last element within
    bool nested = true;
    for (const auto& [stride, size] : by_stride) {
        nested = nested && stride > reach;
        reach += (size - 1) * stride;
    }
    if (nested) return false;
    const at::Tensor touched = at::zeros({reach + 1}, at::kBool);
    touched.as_strided(tensor.sizes(), tensor.strides()).fill_(true);
    return touched.sum().item<std::int64_t>() < tensor.numel();
}

}  // namespace

Dtype check_readable(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        throw Error(ErrorCode::invalid_argument,
                    "the tensor is undefined; where an operation does not look at it, pass "
                    "at::empty({0})");
    }
    if (tensor.is_nested()) {
        refuse(ErrorCode::unsupported, tensor, "is nested; send its parts, or its buffer");
    }
    if (tensor.layout() != at::kStrided) {
        refuse(ErrorCode::unsupported, tensor,
               "has the layout " + c10::str(tensor.layout()) + "; only dense tensors travel");
    }
    if (tensor.is_meta()) {
        refuse(ErrorCode::invalid_argument, tensor, "is on meta: it has no data");
    }
    if (!tensor.device().is_cpu()) {
        refuse(ErrorCode::unsupported, tensor,
               "is on " + tensor.device().str() +
                   "; this build of Trireme moves host memory only: pass tensor.cpu()");
    }
    const Dtype dtype = to_dtype(tensor.scalar_type());
    if (!tensor.has_storage()) {
        refuse(ErrorCode::invalid_argument, tensor, "has no memory of its own");
    }
    const std::size_t needed =
        at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                         static_cast<std::size_t>(tensor.storage_offset()));
    if (tensor.numel() > 0 && !tensor._is_zerotensor() && tensor.storage().nbytes() < needed) {
        refuse(ErrorCode::invalid_argument, tensor,
               "needs a storage of " + std::to_string(needed) + " bytes, but it has " +
                   std::to_string(tensor.storage().nbytes()) + ": it was resized or freed");
    }
    return dtype;
}

void check_writable(const at::Tensor& tensor) {
    if (tensor._is_zerotensor()) {
        refuse(ErrorCode::invalid_argument, tensor,
               "stands for zeros without memory and cannot be written to; pass tensor.clone()");
    }
    if (overlaps_itself(tensor)) {
        refuse(ErrorCode::invalid_argument, tensor,
               "cannot be written to: several of its elements share memory (an expanded tensor?); "
               "write to a tensor of its own, such as at::empty(sizes)");
    }
    if (at::GradMode::is_enabled() && tensor.requires_grad()) {
        refuse(ErrorCode::invalid_argument, tensor,
               std::string(tensor.is_leaf() ? "is a leaf that requires grad" : "requires grad") +
                   " and would be written in place, which records no gradient; write to "
                   "tensor.detach() or under torch::NoGradGuard, or use a function of "
                   "trireme/autograd.h");
    }
}

}  // namespace trireme
