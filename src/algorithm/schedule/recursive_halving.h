#pragma once

#include "algorithm/schedule/recursive_doubling.h"

namespace trireme::schedule {

/// Recursive halving: who keeps what. The data is cut into as many blocks as there are seats (see
/// `RecursiveDoubling`, whose partners and folding are used, from the farthest partner to the
/// nearest). Before round k a seat is responsible for the 2^(rounds - k) blocks that share its
/// number's upper k bits; in it, it keeps the half on its own side and gives the other half to its
/// partner. After the last round each seat is left with the block of its own number.
struct RecursiveHalving {
    int rank = 0;
    int size = 1;

    /// Blocks from `begin` up to, but without, `end`.
    struct Range {
        int begin = 0;
        int end = 0;
        [[nodiscard]] constexpr bool operator==(const Range&) const noexcept = default;
    };
    struct Halves {
        Range kept;
        Range given;
    };

    [[nodiscard]] constexpr bool is_folded() const noexcept { return doubling().is_folded(); }
    [[nodiscard]] constexpr bool is_host() const noexcept { return doubling().is_host(); }
    [[nodiscard]] constexpr int fold_partner() const noexcept { return doubling().fold_partner(); }
    [[nodiscard]] constexpr int rounds() const noexcept { return doubling().rounds(); }
    [[nodiscard]] constexpr int seats() const noexcept { return doubling().seats(); }

    /// With whom to exchange in a round; not for folded ranks.
    [[nodiscard]] constexpr int partner(int round) const noexcept {
        return doubling().partner(rounds() - 1 - round);
    }

    /// What this rank keeps and gives in a round; not for folded ranks.
    [[nodiscard]] constexpr Halves halves(int round) const noexcept {
        const int half = 1 << (rounds() - 1 - round);
        const int seat = doubling().seat();
        const int kept = seat / half * half;
        const int given = kept ^ half;
        return {{kept, kept + half}, {given, given + half}};
    }

    /// What is left to it in the end.
    [[nodiscard]] constexpr Range own() const noexcept {
        return {doubling().seat(), doubling().seat() + 1};
    }

private:
    [[nodiscard]] constexpr RecursiveDoubling doubling() const noexcept { return {rank, size}; }
};

}  // namespace trireme::schedule
