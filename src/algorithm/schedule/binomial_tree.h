#pragma once

#include <bit>

namespace trireme::schedule {

/// The binomial tree, for broadcast and reduce of small data: any rank is the root, and after k
/// rounds of a broadcast 2^k ranks have the data, because everyone who has it sends on.
///
/// Ranks are counted from the root: place = (rank - root) mod size. The parent of a place is the
/// place without its lowest set bit; so the children of place p lie at p + 2^k for every 2^k below
/// p's lowest set bit, and its subtree is the consecutive run of places up to the next multiple of
/// that bit. Consecutive matters: a subtree is one span of blocks for gather and scatter, partial
/// results of a reduction cover runs of ranks, and neighbours, who often share a host, share a
/// subtree.
///
/// A broadcast serves the farthest child first, for its subtree is the deepest and needs the most
/// rounds; then ceil(log2(size)) rounds are enough. A reduce collects in the opposite order, since
/// the nearest child is ready first.
struct BinomialTree {
    int rank = 0;
    int size = 1;
    int root = 0;

    [[nodiscard]] constexpr bool is_root() const noexcept { return rank == root; }

    /// Only for ranks other than the root.
    [[nodiscard]] constexpr int parent() const noexcept {
        const int own = place();
        return at(own & (own - 1));
    }

    [[nodiscard]] constexpr int child_count() const noexcept {
        return std::bit_width(static_cast<unsigned>(reach() - 1));
    }

    /// The children from the farthest, 0, to the nearest, child_count() - 1.
    [[nodiscard]] constexpr int child(int index) const noexcept {
        return at(place() + (1 << (child_count() - 1 - index)));
    }

    /// How many ranks this one and its descendants are; they are the ranks from this one on, modulo
    /// the size.
    [[nodiscard]] constexpr int subtree_size() const noexcept { return reach(); }

private:
    [[nodiscard]] constexpr int place() const noexcept {
        return rank >= root ? rank - root : rank - root + size;
    }

    [[nodiscard]] constexpr int at(int place) const noexcept {
        return place < size - root ? root + place : root + place - size;
    }

    /// The places in the subtree: up to the lowest set bit, but not beyond the last rank.
    [[nodiscard]] constexpr int reach() const noexcept {
        const int own = place();
        const int full = own & -own;
        return own == 0 || full > size - own ? size - own : full;
    }
};

}  // namespace trireme::schedule
