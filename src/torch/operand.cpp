// How a tensor becomes an operand: first everything that can be wrong with it is refused, then its
// memory is lent as it is, or, where the elements do not lie side by side, a contiguous copy's.

#include <torch/torch.h>

#include <memory>
#include <utility>

#include "torch/check.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

// Tells autograd that an operation writes to the tensor. One made under InferenceMode has no
// counter: autograd never saves it.
void note_write(const at::Tensor& tensor, Access access) {
    if (access != Access::read && !tensor.is_inference())
        tensor.unsafeGetTensorImpl()->bump_version();
}

/// Keeps the tensor's memory while a started operation runs.
class TensorKeeper final : public Keeper {
public:
    TensorKeeper(at::Tensor tensor, Access access) : tensor_(std::move(tensor)), access_(access) {}

    void refresh() override { note_write(tensor_, access_); }

private:
    at::Tensor tensor_;
    Access access_;
};

/// Keeps the contiguous copy that stands for a tensor, and writes it back.
class CopyKeeper final : public Keeper {
public:
    CopyKeeper(at::Tensor tensor, at::Tensor copy, Access access)
        : tensor_(std::move(tensor)), copy_(std::move(copy)), access_(access) {}

    void finish() override {
        if (access_ == Access::read) return;
        // Autograd was asked, and told, when the operand was made; this may be another thread.
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        tensor_.copy_(copy_);
    }
    void refresh() override {
        note_write(tensor_, access_);
        if (access_ == Access::write) return;
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        copy_.copy_(tensor_);
    }

private:
    at::Tensor tensor_;
    at::Tensor copy_;
    Access access_;
};

at::Tensor contiguous_copy(const at::Tensor& tensor, Access access) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    at::Tensor copy = at::empty(tensor.sizes(), tensor.options().requires_grad(false));
    if (access != Access::write) copy.copy_(tensor);
    return copy;
}

/// Whether the tensor's memory outlives the tensor's user only by that user's care: memory wrapped
/// by torch::from_blob has no context that would free it.
bool borrows_memory(const at::Tensor& tensor) {
    return tensor.numel() > 0 && tensor.storage().data_ptr().get_context() == nullptr;
}

}  // namespace

Operand OperandTraits<at::Tensor>::make(const at::Tensor& tensor, Access access, Hold hold) {
    const Dtype dtype = check_readable(tensor);
    if (access != Access::read) {
        check_writable(tensor);
        note_write(tensor, access);
    }

    // A tensor that is lazily negated or conjugated holds other bits than it stands for.
    const bool in_place =
        tensor.is_contiguous() && !tensor.is_neg() && !tensor.is_conj() && !tensor._is_zerotensor();
    const at::Tensor memory = in_place ? tensor : contiguous_copy(tensor, access);
    // A read must not take apart memory that torch shares between lazy copies.
    const void* data = access == Access::read ? memory.const_data_ptr() : memory.mutable_data_ptr();

    Operand operand;
    operand.buffer = {static_cast<std::byte*>(const_cast<void*>(data)),
                      static_cast<std::size_t>(memory.numel()), dtype, Device::host};
    if (!in_place) {
        operand.keeper = std::make_unique<CopyKeeper>(tensor, memory, access);
        operand.borrowed = access != Access::read && borrows_memory(tensor);
    } else if (hold == Hold::work) {
        operand.keeper = std::make_unique<TensorKeeper>(tensor, access);
        operand.borrowed = borrows_memory(tensor);
    }
    return operand;
}

}  // namespace trireme
