#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "contest/contestant.h"
#include "contest/reference.h"

namespace trireme::bench {

/// The buffers of a cell: one slot for each call of a batch.
///
/// A batch writes all its inputs before the first of its calls, so each call has a slot to itself.
/// The root goes round from slot to slot: were it always the same rank, that could run ahead of the
/// others through all the batch, and throughput would pass for latency.
class Buffers {
public:
    Buffers(const Cell& cell, Contestant& contestant, std::size_t slots)
        : cell_(cell), reference_(cell, contestant.rank(), contestant.size()) {
        const int ranks = contestant.size();
        const std::size_t element = info(cell.element).size;
        message_ = cell.in_count(ranks) * element;
        const std::size_t in = round_up(message_ * cell.window());
        const std::size_t out = round_up(cell.out_count(ranks) * element * cell.window());
        const std::size_t step = cell.in_place ? std::max(in, out) : in + out;
        std::byte* start = nullptr;
        if (cell.shared) {
            start = contestant.allocate_shared(std::max<std::size_t>(step * slots, 1));
        } else {
            memory_ = Memory(std::max<std::size_t>(step * slots, 1));
            start = memory_.data();
        }
        out_bytes_ = cell.out_count(ranks) * element * cell.window();
        for (std::size_t i = 0; i < slots; ++i) {
            std::byte* at = start + i * step;
            Slot slot{at, cell.in_place ? at : at + in, static_cast<int>(i) % ranks};
            // In place, this rank's part lies where it will be among the others.
            if (cell.in_place && info(cell.operation).out_has_parts)
                slot.in += static_cast<std::size_t>(contestant.rank()) * message_;
            slots_.push_back(slot);
        }
    }

    [[nodiscard]] std::span<const Slot> slots() const noexcept { return slots_; }

    /// Rewrites the inputs of the first `count` slots; each round writes other values.
    void write(std::size_t count, std::size_t round) {
        round_ = round;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t m = 0; m < cell_.window(); ++m)
                reference_.write_input(slots_[i].in + m * message_, round + i + m);
    }

    /// Makes sure that nothing right stands in the outputs yet.
    void poison() {
        if (cell_.in_place && !info(cell_.operation).out_has_parts) return;
        for (const Slot& slot : slots_) std::memset(slot.out, 0xA5, out_bytes_);
    }

    /// How many elements of the first `count` outputs are wrong.
    [[nodiscard]] std::uint64_t wrong(std::size_t count) const {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t m = 0; m < cell_.window(); ++m)
                found +=
                    reference_.wrong(slots_[i].out + m * message_, slots_[i].root, round_ + i + m);
        return found;
    }

private:
    // A cache line of a neighbour is fetched along with one's own.
    static std::size_t round_up(std::size_t bytes) { return (bytes + 127) / 128 * 128; }

    Cell cell_;
    Reference reference_;
    Memory memory_;
    std::vector<Slot> slots_;
    std::size_t message_ = 0;
    std::size_t out_bytes_ = 0;
    std::size_t round_ = 0;
};

}  // namespace trireme::bench
