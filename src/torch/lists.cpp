// Several tensors as one operand, and one tensor as several parts.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "torch/describe.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

/// Where a tensor that has elements lies.
struct Extent {
    std::byte* begin;
    std::byte* end;
    std::size_t part;  ///< its place in the list
};

Extent extent_of(const at::Tensor& tensor, std::size_t part) {
    std::int64_t reach = 1;
    for (std::int64_t d = 0; d < tensor.dim(); ++d)
        reach += (tensor.size(d) - 1) * tensor.stride(d);
    // Asked for as memory to write to, lazy copies of one tensor go apart.
    auto* begin = static_cast<std::byte*>(tensor.mutable_data_ptr());
    return {begin, begin + reach * static_cast<std::int64_t>(tensor.itemsize()), part};
}

/// The bytes of the tensor's elements, in memory that mirrors its own from `begin` on.
at::Tensor bytes_of(const at::Tensor& tensor, std::int64_t begin, const at::Tensor& mirror) {
    const auto size = static_cast<std::int64_t>(tensor.itemsize());
    std::vector<std::int64_t> sizes = tensor.sizes().vec();
    std::vector<std::int64_t> strides;
    for (const std::int64_t stride : tensor.strides()) strides.push_back(stride * size);
    sizes.push_back(size);
    strides.push_back(1);
    return mirror.as_strided(sizes, strides, begin);
}

// Of parts whose extents are interlocked, looks at every byte.
void check_interlocked(at::ArrayRef<at::Tensor> parts, const Extent* first, const Extent* last,
                       const std::byte* end) {
    if (last - first < 2) return;
    const at::Tensor taken = at::zeros({end - first->begin}, at::kBool);
    for (const Extent* one = first; one != last; ++one) {
        const at::Tensor& tensor = parts[one->part];
        const at::Tensor bytes = bytes_of(tensor, one->begin - first->begin, taken);
        if (bytes.any().item<bool>())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("part {} of the list, {}, shares memory with another part; "
                                    "each part that is written to needs its own",
                                    one->part, describe(tensor)));
        bytes.fill_(true);
    }
}

}  // namespace

void detail::check_apart(at::ArrayRef<at::Tensor> parts) {
    const auto lies_plainly = [](const at::Tensor& tensor) { return tensor.is_contiguous(); };
    // These are lent as they are, and looked at with all other buffers of the call.
    if (std::all_of(parts.begin(), parts.end(), lies_plainly)) return;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    std::vector<Extent> extents;
    for (std::size_t part = 0; part < parts.size(); ++part)
        if (parts[part].numel() > 0) extents.push_back(extent_of(parts[part], part));
    std::ranges::sort(extents, std::less<>(), &Extent::begin);

    std::size_t first = 0;
    const std::byte* end = nullptr;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        if (i == first || std::less<>()(extents[i].begin, end)) {
            end = i == first ? extents[i].end : std::max<const std::byte*>(end, extents[i].end);
            continue;
        }
        check_interlocked(parts, &extents[first], &extents[i], end);
        first = i;
        end = extents[i].end;
    }
    if (!extents.empty())
        check_interlocked(parts, &extents[first], extents.data() + extents.size(), end);
}

Split<at::Tensor> split_rows(const at::Tensor& tensor, at::IntArrayRef rows) {
    const auto refuse = [&](const char* why) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split_rows: rows [{}] of {}: {}", fmt::join(rows, ", "),
                                describe(tensor), why));
    };
    if (!tensor.defined() || tensor.is_nested() || tensor.dim() == 0)
        refuse("it has no dimension 0 to cut");
    std::int64_t left = tensor.size(0);
    for (const std::int64_t count : rows) {
        if (count < 0) refuse("a number of rows is negative");
        if (count > left) refuse("they are more than it has");
        left -= count;
    }
    if (left != 0) refuse("they are fewer than it has");

    const std::int64_t row = c10::multiply_integers(tensor.sizes().slice(1));
    Split<at::Tensor> result{tensor, {}};
    for (const std::int64_t count : rows)
        result.counts.push_back(static_cast<std::size_t>(count * row));
    return result;
}

}  // namespace trireme
