#pragma once

#include <cstdint>

#include "algorithm/call.h"
#include "link/shm/commons.h"

// The steps of an operation that goes through the cells of a group's commons: for the algorithm
// `cells`, and for the short way of a blocking call, which takes the same steps without a task.

namespace trireme::algorithm {

/// The longest payload: what is prepared in a wider type must fit as well.
inline constexpr std::size_t cells_bytes = commons::payload_bytes / 2;
/// The most that a rank reads of all others.
inline constexpr std::size_t cells_read_bytes = 128 * 1024;

/// Writes into this rank's cell what the others need of it. There is room.
void bring_to_cell(const Op& op, int own_rank, Commons& commons, std::uint64_t number) noexcept;

/// Whether every rank must wait for every other.
[[nodiscard]] bool needs_all_cells(const Call& call) noexcept;

/// Whether this rank must wait for what `rank` brings.
[[nodiscard]] bool needs_cell_of(const Call& call, int rank) noexcept;

/// Counts what passes between this rank and the others.
void count_cells_traffic(const Call& call) noexcept;

/// Waits until there is room for what this rank brings to an operation, and throws where a member's
/// call of an earlier one was another.
Task await_cell(Call& call);

/// Waits for what the others bring, those of which this rank needs something, and throws where
/// their call is another.
Task await_cells(Call& call);

/// Makes this rank's result, once all have come that it needs.
void take_from_cells(const Call& call, const Commons& commons, std::uint64_t number);

}  // namespace trireme::algorithm
