#pragma once

#include <cstddef>
#include <span>

#include "trireme/buffer.h"

namespace trireme {

/// The part of `rank`, of `ranks`: of a list its own buffer, of one buffer an equal slice.
[[nodiscard]] inline Buffer part_of(std::span<const Buffer> buffers, int rank, int ranks) noexcept {
    const auto index = static_cast<std::size_t>(rank);
    if (buffers.size() > 1) return buffers[index];
    const std::size_t count = buffers.front().count / static_cast<std::size_t>(ranks);
    return buffers.front().slice(index * count, count);
}

/// All elements of all parts.
[[nodiscard]] inline std::size_t total_count(std::span<const Buffer> buffers) noexcept {
    std::size_t count = 0;
    for (const Buffer& buffer : buffers) count += buffer.count;
    return count;
}

}  // namespace trireme
