#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace trireme::schedule {

/// A balanced split of `count` elements into `parts` consecutive parts.
///
/// No two parts differ by more than one element. With a granularity g above one, the unit dealt out
/// is g elements instead, so that every part starts at a multiple of g (a cache line, say); only
/// the last unit may be incomplete. The larger parts come first. Where there are fewer units than
/// parts, the last parts are empty.
struct Partition {
    std::size_t count = 0;
    std::int64_t parts = 1;
    std::size_t granularity = 1;

    /// Where part `index` begins. `offset(parts)` is `count`.
    [[nodiscard]] constexpr std::size_t offset(std::int64_t index) const noexcept {
        const auto whole = static_cast<std::size_t>(parts);
        const auto before = static_cast<std::size_t>(index);
        const std::size_t units = count / granularity + (count % granularity != 0 ? 1 : 0);
        const std::size_t first_unit = before * (units / whole) + std::min(before, units % whole);
        // Not min(first_unit * granularity, count): the product of the last unit could overflow.
        return first_unit < units ? first_unit * granularity : count;
    }

    [[nodiscard]] constexpr std::size_t size(std::int64_t index) const noexcept {
        return offset(index + 1) - offset(index);
    }

    /// The size of the largest part: what a staging buffer must hold.
    [[nodiscard]] constexpr std::size_t largest() const noexcept { return parts > 0 ? size(0) : 0; }
};

/// The pieces in which a large block goes through a pipeline: as few as possible of at most `limit`
/// elements (at least one unit), and of equal size, because a short last piece would leave the
/// pipeline idle as long as a full one. No elements are no pieces.
[[nodiscard]] constexpr Partition pieces(std::size_t count, std::size_t limit,
                                         std::size_t granularity = 1) noexcept {
    const std::size_t units = count / granularity + (count % granularity != 0 ? 1 : 0);
    const std::size_t units_per_piece = std::max<std::size_t>(limit / granularity, 1);
    const std::size_t parts = units / units_per_piece + (units % units_per_piece != 0 ? 1 : 0);
    return {count, static_cast<std::int64_t>(parts), granularity};
}

}  // namespace trireme::schedule
