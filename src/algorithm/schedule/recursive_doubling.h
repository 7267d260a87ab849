#pragma once

#include <bit>

namespace trireme::schedule {

/// Recursive doubling: the all-reduce of small data, in log2(size) rounds.
///
/// In round k every rank exchanges its partial result with the rank whose number differs in bit k
/// only, and both reduce. The results of twice as many ranks are in each partial result after every
/// round, and after the last one all ranks have all.
///
/// That needs a power of two. Other sizes are cut down to the next lower one: of the first ranks,
/// as many pairs of neighbours as there are ranks too many are folded. The odd one of a pair
/// (folded) sends its contribution to the even one (host) before the rounds, stands aside, and gets
/// the result after them. The ranks that take part in the rounds are then numbered anew, without
/// gaps: their seats.
///
/// Both partners of a round reduce the same two values, in opposite order. With a commutative
/// reduction (all of ours are, bit for bit) they stay equal in every round, and all ranks end with
/// the same bits.
struct RecursiveDoubling {
    int rank = 0;
    int size = 1;

    /// Stands aside during the rounds: sends to `fold_partner()` before, receives from it after.
    [[nodiscard]] constexpr bool is_folded() const noexcept {
        return rank < 2 * surplus() && rank % 2 == 1;
    }

    /// Receives and reduces the contribution of `fold_partner()` before the rounds, and sends it
    /// the result after.
    [[nodiscard]] constexpr bool is_host() const noexcept {
        return rank < 2 * surplus() && rank % 2 == 0;
    }

    /// The other one of the pair, for ranks that are folded or host.
    [[nodiscard]] constexpr int fold_partner() const noexcept { return rank ^ 1; }

    /// Rounds are numbered from zero.
    [[nodiscard]] constexpr int rounds() const noexcept {
        return std::bit_width(static_cast<unsigned>(seats())) - 1;
    }

    /// With whom to exchange in a round; not for folded ranks.
    [[nodiscard]] constexpr int partner(int round) const noexcept {
        const int other = seat() ^ (1 << round);
        return other < surplus() ? 2 * other : other + surplus();
    }

    /// How many ranks take part in the rounds, and this one's number among them.
    [[nodiscard]] constexpr int seats() const noexcept {
        return static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    }
    [[nodiscard]] constexpr int seat() const noexcept {
        return rank < 2 * surplus() ? rank / 2 : rank - surplus();
    }

private:
    [[nodiscard]] constexpr int surplus() const noexcept { return size - seats(); }
};

}  // namespace trireme::schedule
