#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/board_view.h"
#include "observe/circle.h"

namespace trireme {

/// Says of the other ranks of a world what they do, by what their boards show.
///
/// Boards are opened when they are first needed. Under the engine's mutex.
class Lookout {
public:
    using Clock = std::chrono::steady_clock;

    Lookout(std::vector<BoardAddress> addresses, const shm::Token& token)
        : addresses_(std::move(addresses)), token_(token) {}

    /// What `rank` does, for one that waits for it in the collective of this number on this group's
    /// stream, or in a message (`sequence` 0): "is in user code for 3.2 s, after ...".
    [[nodiscard]] std::string whereabouts(int rank, std::uint32_t stream, std::uint64_t sequence,
                                          Clock::time_point now);

    /// Those of `ranks` whose boards show that they have not called the collective of this number.
    [[nodiscard]] std::vector<int> missing(const std::vector<int>& ranks, std::uint32_t stream,
                                           std::uint64_t sequence);

    /// Whether `rank` has begun the other side of the message of this number (0: of any): `kind`,
    /// with `peer` of the group. It may have ended there: what was sent may still be on its way.
    [[nodiscard]] bool has_other_side(int rank, std::uint32_t stream, OpKind kind, int peer,
                                      int tag, std::uint64_t sequence);

    /// Where `rank` stands, as its board shows it; nothing where it does not wait for others'
    /// calls.
    [[nodiscard]] std::optional<Stand> stand(int rank);

    /// As what `rank` called the collective of this number; nothing where that is not known.
    [[nodiscard]] std::optional<std::string> call_of(int rank, std::uint32_t stream,
                                                     std::uint64_t sequence);

    /// The circle that `rank` has found, and left, if `member` was one of it.
    [[nodiscard]] std::optional<board::Circle> circle_with(int rank,
                                                           const board::Circle::Member& member);

private:
    [[nodiscard]] const BoardView* board(int rank);

    std::vector<BoardAddress> addresses_;  // by world rank
    shm::Token token_;
    std::map<int, BoardView> boards_;
};

}  // namespace trireme
