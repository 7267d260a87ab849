#pragma once

#include <cstdint>

#include "algorithm/call.h"
#include "link/shm/commons.h"

// The steps of an operation that goes through the cells of a group's commons: for the algorithm
// `cells`, and for the short way of a blocking call, which takes the same steps without a task.

namespace trireme::algorithm {

/// The longest payload; of values that are reduced in a wider type half as much.
inline constexpr std::size_t cells_bytes = commons::payload_bytes;
/// The most that a rank reads of all others.
inline constexpr std::size_t cells_read_bytes = 128 * 1024;

/// Writes into this rank's cell what the others need of it. There is room.
void bring_to_cell(const Op& op, int own_rank, Commons& commons, std::uint64_t number) noexcept;

/// Whether every rank must wait for every other.
[[nodiscard]] bool needs_all_cells(const Call& call) noexcept;

/// Whether this rank must wait for what `rank` brings, and `rank` for what this rank brings.
[[nodiscard]] bool reads_from(const Call& call, int rank) noexcept;
[[nodiscard]] bool is_read_by(const Call& call, int rank) noexcept;

/// How many bytes this rank sends to each other, and receives from each that it `reads_from`.
struct CellsTraffic {
    std::size_t sent = 0;
    std::size_t received = 0;
};
[[nodiscard]] CellsTraffic cells_traffic(const Call& call) noexcept;

/// Waits until there is room for what this rank brings to an operation, and throws where a member's
/// call of an earlier one was another.
Task await_cell(Call& call);

/// Waits for what the others bring, those of which this rank needs something, and throws where
/// their call is another.
Task await_cells(Call& call);

/// Says that this rank touches the others' memory no more, and waits until those do so that read
/// from this one; throws where a member's call of an earlier operation was another.
Task leave_cells(Call& call);

/// Makes this rank's result, once all have come that it needs.
void take_from_cells(const Call& call, const Commons& commons, std::uint64_t number);

}  // namespace trireme::algorithm
