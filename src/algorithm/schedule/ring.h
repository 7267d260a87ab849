#pragma once

namespace trireme::schedule {

/// The ring: every rank sends to the next one and receives from the one before.
///
/// The data is cut into as many blocks as there are ranks, and in every step each rank passes one
/// block on, so that all links carry data all the time and each rank sends (size - 1) / size of the
/// whole: no schedule sends less. The price is size - 1 steps, which suits large data.
///
/// Reduce-scatter: block b starts at rank b + 1 and travels once round the ring; every rank that it
/// reaches adds its own contribution. It comes home to rank b, its owner, complete. The order of
/// the additions is the ring's order from b + 1 on, whichever rank asks.
///
/// All-gather: block b starts at its owner and travels once round the ring; every rank that it
/// reaches keeps a copy.
///
/// One after the other they are the ring all-reduce, in which each sum is computed in one place and
/// so has the same bits everywhere.
struct Ring {
    int rank = 0;
    int size = 1;

    /// What one rank does in one step: the block it sends to `next()` and the block, always another
    /// one, that it receives from `previous()`.
    struct Step {
        int send = 0;
        int receive = 0;

        [[nodiscard]] constexpr bool operator==(const Step&) const noexcept = default;
    };

    [[nodiscard]] constexpr int next() const noexcept { return rank + 1 < size ? rank + 1 : 0; }
    [[nodiscard]] constexpr int previous() const noexcept { return rank > 0 ? rank - 1 : size - 1; }

    /// Steps are numbered from zero, in both halves.
    [[nodiscard]] constexpr int steps() const noexcept { return size - 1; }

    /// The received block is to be reduced with the own contribution to it.
    [[nodiscard]] constexpr Step reduce_scatter(int step) const noexcept {
        return {back(step + 1), back(step + 2)};
    }

    [[nodiscard]] constexpr Step all_gather(int step) const noexcept {
        return {back(step), back(step + 1)};
    }

private:
    /// The rank `distance` places before this one; distance <= size.
    [[nodiscard]] constexpr int back(int distance) const noexcept {
        return rank >= distance ? rank - distance : rank - distance + size;
    }
};

}  // namespace trireme::schedule
