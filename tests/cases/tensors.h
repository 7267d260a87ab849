#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "torch/on_ranks.h"
#include "trireme/torch.h"

namespace trireme {

#define EXPECT_TENSOR(actual, expected) \
    EXPECT_TRUE(at::equal(actual, expected)) << "actual " << (actual) << "\nexpected " << (expected)

using Sizes = std::vector<std::int64_t>;
using Tensors = std::vector<at::Tensor>;

/// first, first + 1, first + 2, ...: equal values would hide a wrong order.
inline at::Tensor count_from(double first, at::IntArrayRef sizes) {
    return at::arange(c10::multiply_integers(sizes), at::kFloat).add(first).reshape(sizes);
}

/// The bytes of a tensor of any dtype, in row-major order.
inline at::Tensor bytes_of(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.resolve_conj().resolve_neg();
    // Cloned, because a single element may be contiguous with any stride.
    return plain.clone(at::MemoryFormat::Contiguous).flatten().view(at::kByte);
}

/// Whether all ranks hold the same bits.
inline bool same_bits_everywhere(const Group& group, const at::Tensor& tensor) {
    const at::Tensor own = bytes_of(tensor);
    at::Tensor of_first = own.clone();
    group.broadcast(of_first, Root{0});
    return at::equal(own, of_first);
}

/// How the elements of a tensor lie in memory.
enum class Layout : std::uint8_t {
    contiguous,
    column,         ///< every other element
    transposed,     ///< the first dimension is the innermost
    channels_last,  ///< of four dimensions
    window,         ///< gaps between the rows
    expanded,       ///< for reading only: one value stands for several elements
};

inline const char* name(Layout layout) {
    constexpr const char* names[] = {"contiguous",    "column", "transposed",
                                     "channels_last", "window", "expanded"};
    return names[static_cast<std::size_t>(layout)];
}

/// A tensor in memory of its own, which is -1 wherever the tensor has no element.
struct Placed {
    at::Tensor memory;
    at::Tensor view;

    [[nodiscard]] bool gaps_untouched() const {
        const at::Tensor copy = memory.clone(at::MemoryFormat::Preserve);
        copy.as_strided(view.sizes(), view.strides(), view.storage_offset()).fill_(-1);
        return copy.eq(-1).all().item<bool>();
    }
};

/// A tensor of these sizes, all -1.
inline Placed place(Layout layout, at::IntArrayRef sizes) {
    Sizes wider = sizes.vec();
    Placed result;
    switch (layout) {
        case Layout::column:
            wider.push_back(2);
            result.memory = at::full(wider, -1.0F);
            result.view = result.memory.select(-1, 1);
            return result;
        case Layout::window:
            wider.back() += 2;
            result.memory = at::full(wider, -1.0F);
            result.view = result.memory.narrow(-1, 1, sizes.back());
            return result;
        case Layout::transposed:
            result.memory = at::full(Sizes(sizes.rbegin(), sizes.rend()), -1.0F);
            for (std::int64_t d = sizes.size(); d-- > 0;) wider[sizes.size() - 1 - d] = d;
            result.view = result.memory.permute(wider);
            return result;
        case Layout::channels_last:
            result.memory = at::full(sizes, -1.0F).contiguous(at::MemoryFormat::ChannelsLast);
            break;
        case Layout::expanded:
            wider.back() = 1;
            result.memory = at::full(wider, -1.0F);
            result.view = result.memory.expand(sizes);
            return result;
        case Layout::contiguous: result.memory = at::full(sizes, -1.0F); break;
    }
    result.view = result.memory;
    return result;
}

/// A tensor of these sizes whose elements are counted from `first`.
inline Placed counted(Layout layout, double first, at::IntArrayRef sizes) {
    Placed result = place(layout, sizes);
    const at::Tensor& target = layout == Layout::expanded ? result.memory : result.view;
    target.copy_(count_from(first, target.sizes()));
    return result;
}

inline Tensors views(const std::vector<Placed>& placed) {
    Tensors list;
    for (const Placed& one : placed) list.push_back(one.view);
    return list;
}

}  // namespace trireme
