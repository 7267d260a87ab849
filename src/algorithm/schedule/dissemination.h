#pragma once

#include <bit>

namespace trireme::schedule {

/// The dissemination barrier: ceil(log2(size)) rounds for any number of ranks, without a root.
///
/// In round k every rank signals the rank 2^k after it and awaits the signal of the rank 2^k before
/// it. A signal says that its sender has heard, directly or through others, from the 2^k ranks that
/// end with itself; so after the last round everybody has heard from everybody.
///
/// A rank may be heard twice when the size is no power of two. For a barrier that does no harm; a
/// sum needs another schedule.
struct Dissemination {
    int rank = 0;
    int size = 1;

    /// Rounds are numbered from zero.
    [[nodiscard]] constexpr int rounds() const noexcept {
        return std::bit_width(static_cast<unsigned>(size - 1));
    }

    [[nodiscard]] constexpr int send_to(int round) const noexcept {
        const int distance = 1 << round;
        return rank < size - distance ? rank + distance : rank + distance - size;
    }

    [[nodiscard]] constexpr int receive_from(int round) const noexcept {
        const int distance = 1 << round;
        return rank >= distance ? rank - distance : rank - distance + size;
    }
};

}  // namespace trireme::schedule
