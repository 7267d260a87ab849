#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

    /// Those of `ranks` that do not run: stopped, or on another host and not heard of for long.
    [[nodiscard]] std::vector<int> silent(const std::vector<int>& ranks, Clock::time_point now);

    /// Whom those of `ranks` wait for in the end, as far as can be seen from rank `self`: ranks
    /// that are in their own code, do not run, or cannot be seen. `ranks` where there are none.
    [[nodiscard]] std::vector<int> roots(const std::vector<int>& ranks, int self,
                                         Clock::time_point now);

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

    /// The ranks of a world of `size` whose boards cannot be seen from this host. Their excerpts
    /// take the place: see `Bulletin`.
    [[nodiscard]] std::vector<int> find_remote(int size);
    void receive(int rank, const std::string& excerpt);
    /// Those that somebody asked for since the last time.
    [[nodiscard]] std::vector<int> take_wanted();

private:
    struct Remote {
        BoardView board;
        std::uint64_t beat;
        Clock::time_point changed;  // when the beat last did
        Clock::time_point fetched;  // the last time, changed or not
    };

    [[nodiscard]] const BoardView* board(int rank);
    [[nodiscard]] std::uint64_t beat(int rank) const noexcept;
    [[nodiscard]] std::pair<std::string, bool> state_of(int rank, const BoardView& board,
                                                        Clock::time_point now) const;

    std::vector<BoardAddress> addresses_;  // by world rank
    shm::Token token_;
    std::map<int, BoardView> boards_;
    std::map<int, Remote> remote_;
    std::set<int> is_remote_;
    std::set<int> wanted_;
};

}  // namespace trireme
