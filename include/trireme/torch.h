#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorOptions.h>

#include <concepts>
#include <ranges>
#include <type_traits>
#include <vector>

#include "trireme/trireme.h"

namespace trireme {

/// Lets every operation take tensors: `group.all_reduce(tensor)`.
///
/// A contiguous tensor is moved in its own memory. Any other one (a column, a transposed matrix,
/// channels-last) moves as a contiguous copy in row-major order, as `tensor.contiguous()` lays it
/// out; an operation that writes copies the result back and leaves the gaps between the elements
/// alone. Any shape will do, with no dimension or no element too; operations look at the number of
/// elements only.
///
/// A tensor that a started operation uses is kept alive until its `Work` ends; memory that the
/// tensor only borrows itself (`torch::from_blob` without a deleter) is waited for, as a span is.
///
/// Operations record no gradient: see `trireme/autograd.h` for those that do. Writing to a tensor
/// raises its version counter, so that autograd notices if it had saved the old values.
///
/// Throws, before anything is sent,
/// - `invalid_argument` for an undefined tensor; for one without memory (meta, freed storage); for
///   a target whose elements share memory, such as an expanded tensor; for a target that requires
///   grad while gradients are recorded: write to `tensor.detach()`, or under
///   `torch::NoGradGuard`;
/// - `unsupported` for sparse, nested and quantised tensors, for dtypes that are not in
///   `trireme/dtype.h`, and for tensors that are not in host memory.
///
/// Counterpart: the tensor arguments of torch.distributed.
template <>
struct OperandTraits<at::Tensor> {
    static Operand make(const at::Tensor& tensor, Access access, Hold hold);
};

namespace detail {
/// Throws `invalid_argument` where two of `parts` share an element, naming one of them. Strided
/// parts may lie between one another, as the columns of a matrix do.
void check_apart(at::ArrayRef<at::Tensor> parts);
}  // namespace detail

/// A list of tensors, one per rank. What is copied back into strided tensors must not collide: only
/// here are they known as they are.
template <OperandRange R>
    requires std::same_as<std::remove_cv_t<std::ranges::range_value_t<R>>, at::Tensor>
struct OperandTraits<R> {
    template <class Range>
    static Operand make(Range& range, Access access, Hold hold) {
        Operand list = detail::make_list(range, access, hold);
        if (access != Access::read)
            detail::check_apart(
                std::vector<at::Tensor>(std::ranges::begin(range), std::ranges::end(range)));
        return list;
    }
};

/// `tensor`, cut along dimension 0 into parts of so many rows, one per rank, in rank order: `split`
/// for tensors. The rows must be all of dimension 0 together; they may be 0.
///
///     group.all_to_all(split_rows(x, {3, 2, 1}), split_rows(y, {3, 2, 2}));
///
/// Throws `invalid_argument`, naming the tensor's sizes and `rows`, where they do not fit.
///
/// Counterpart: input_split_sizes and output_split_sizes of all_to_all_single.
[[nodiscard]] Split<at::Tensor> split_rows(const at::Tensor& tensor, at::IntArrayRef rows);

/// A tensor of zeros in memory that every rank of `group` on this host maps, on which the group's
/// operations are several times as fast: see `SharedBuffer`. All members must call it, with as many
/// bytes. Throws `unsupported` for what is no strided tensor in host memory, else as
/// `Group::allocate` does. Counterpart: torch.distributed._symmetric_memory.empty.
///
///     auto gradients = trireme::empty_shared({1024, 1024}, torch::kFloat32, group);
[[nodiscard]] at::Tensor empty_shared(at::IntArrayRef sizes, const at::TensorOptions& options,
                                      const Group& group, Site site = Site::current());

/// The dtype under which tensors of `type` travel; throws `unsupported`, naming it, for a type
/// that has none (quantised types, the 8-bit floats but e4m3fn and e5m2, and others).
[[nodiscard]] Dtype to_dtype(at::ScalarType type);

/// The type of a tensor that holds elements of `dtype`.
[[nodiscard]] at::ScalarType to_scalar_type(Dtype dtype);

}  // namespace trireme
