#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "contest/cell.h"
#include "contest/pattern.h"

namespace trireme::bench {

/// What ranks put in, and what must come out, reckoned here with whole numbers and nobody's
/// library.
///
/// Inputs are so small that their reduction is exact in every type: 0 to 3, or 1 and 2 for
/// products; for averages multiples of the number of ranks. Each round shifts the pattern, so that
/// what the round before left behind does not pass for a result.
class Reference {
public:
    Reference(const Cell& cell, int rank, int ranks) : cell_(cell), rank_(rank), ranks_(ranks) {
        for (int r = 0; r < ranks; ++r)
            inputs_.emplace_back(cell.element, [&](std::size_t i) { return input(r, i); });
        if (info(cell.operation).reduces) {
            const int last = cell.operation == Operation::scan ? rank : ranks - 1;
            reduced_.emplace_back(cell.element, [&](std::size_t i) { return reduced(last, i); });
        }
    }

    void write_input(std::byte* in, std::size_t round) const {
        inputs_[static_cast<std::size_t>(rank_)].fill(in, cell_.in_count(ranks_), phase(round));
    }

    /// How many elements of a call's output are wrong.
    [[nodiscard]] std::uint64_t wrong(const std::byte* out, int root, std::size_t round) const {
        const std::size_t part = cell_.part(ranks_);
        const std::size_t mine = static_cast<std::size_t>(rank_) * part;
        switch (cell_.operation) {
            case Operation::barrier: return 0;
            case Operation::all_reduce:
            case Operation::scan: return reduced_.front().wrong(out, part, phase(round));
            case Operation::reduce:
                return rank_ == root ? reduced_.front().wrong(out, part, phase(round)) : 0;
            case Operation::reduce_scatter:
                return reduced_.front().wrong(out, part, phase(round) + mine);
            case Operation::broadcast: return of(root).wrong(out, part, phase(round));
            case Operation::scatter: return of(root).wrong(out, part, phase(round) + mine);
            case Operation::gather: return rank_ == root ? wrong_parts(out, part, phase(round)) : 0;
            case Operation::all_gather: return wrong_parts(out, part, phase(round));
            case Operation::all_to_all: return wrong_parts(out, part, phase(round) + mine);
            case Operation::sendrecv_latency:
            case Operation::sendrecv_bandwidth: {
                const int partner = partner_of(rank_, ranks_);
                const bool receives =
                    partner != rank_ &&
                    (cell_.operation == Operation::sendrecv_latency || rank_ % 2 == 1);
                return receives ? of(partner).wrong(out, part, phase(round)) : 0;
            }
        }
        return 0;
    }

private:
    static std::size_t phase(std::size_t round) { return 17 * round; }

    [[nodiscard]] const Pattern& of(int rank) const {
        return inputs_[static_cast<std::size_t>(rank)];
    }

    [[nodiscard]] std::uint64_t wrong_parts(const std::byte* out, std::size_t part,
                                            std::size_t start) const {
        std::uint64_t found = 0;
        const std::size_t bytes = part * info(cell_.element).size;
        for (int r = 0; r < ranks_; ++r)
            found += of(r).wrong(out + static_cast<std::size_t>(r) * bytes, part, start);
        return found;
    }

    [[nodiscard]] std::int64_t input(int rank, std::size_t i) const {
        // A scan's averages are over different numbers of ranks: whole only where all are equal.
        if (cell_.operation == Operation::scan && cell_.reduce == "avg") rank = 0;
        std::uint64_t hash = (i + 31 * static_cast<std::uint64_t>(rank)) % Pattern::period + 1;
        hash = (hash * 0x9E3779B97F4A7C15U) >> 61U;  // 0 to 7
        if (cell_.reduce == "prod") return hash == 0 ? 2 : 1;
        return static_cast<std::int64_t>(hash % 4) * (cell_.reduce == "avg" ? ranks_ : 1);
    }

    [[nodiscard]] std::int64_t reduced(int last, std::size_t i) const {
        std::int64_t result = input(0, i);
        for (int rank = 1; rank <= last; ++rank) {
            const std::int64_t value = input(rank, i);
            if (cell_.reduce == "sum" || cell_.reduce == "avg")
                result += value;
            else if (cell_.reduce == "prod")
                result *= value;
            else if (cell_.reduce == "min")
                result = std::min(result, value);
            else if (cell_.reduce == "max")
                result = std::max(result, value);
            else
                throw std::invalid_argument("no reduction is called " + cell_.reduce);
        }
        return cell_.reduce == "avg" ? result / (last + 1) : result;
    }

    Cell cell_;
    int rank_, ranks_;
    std::vector<Pattern> inputs_;   // of each rank
    std::vector<Pattern> reduced_;  // one, or none
};

}  // namespace trireme::bench
