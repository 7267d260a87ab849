#pragma once

#include <algorithm>
#include <cstddef>

#include "algorithm/schedule/partition.h"
#include "trireme/buffer.h"

namespace trireme::algorithm {

/// What a chain of ranks hands on at a time: pieces of 128 KiB at most, so that the next rank works
/// on one while this one works on the next. One empty piece of an empty buffer: the ranks must
/// meet.
[[nodiscard]] inline schedule::Partition chain_pieces(const Buffer& whole) noexcept {
    constexpr std::size_t chain_piece_bytes = 128 * 1024;
    schedule::Partition pieces =
        schedule::pieces(whole.count, chain_piece_bytes / size_of(whole.dtype));
    pieces.parts = std::max<std::int64_t>(pieces.parts, 1);
    return pieces;
}

}  // namespace trireme::algorithm
