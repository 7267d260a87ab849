#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "link/shm/inbox.h"
#include "observe/board_layout.h"

namespace trireme {

/// What ranks on other hosts get to see of a board, as bytes: its last operations and those under
/// way, the names in them, what it waits for. `beat` counts the excerpts of one board.
[[nodiscard]] std::string make_excerpt(const board::Board& board, std::uint64_t beat,
                                       std::chrono::steady_clock::time_point now);

/// A board with what an excerpt shows.
struct ExcerptBoard {
    shm::Mapping memory;  ///< a `board::Board`
    std::uint64_t beat = 0;
};

/// Lays an excerpt out as a board. Its times become those of this host's clock: it was made `now`.
/// Nothing where `bytes` are no excerpt of that rank's board.
[[nodiscard]] std::optional<ExcerptBoard> read_excerpt(const std::string& bytes, int rank,
                                                       std::chrono::steady_clock::time_point now);

}  // namespace trireme
