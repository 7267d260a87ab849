#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/call.h"

namespace trireme {

/// What an algorithm needs, and what can be said of it.
enum AlgorithmTrait : std::uint8_t {
    any_situation = 0,
    needs_memory = 1,  ///< the memory verbs, between every two ranks of the group
    needs_even = 2,    ///< equal parts
    needs_hosts = 4,   ///< several hosts, of which one has several ranks
    /// Its value is the left fold in rank order: the same bits whatever the transport, the cutting
    /// and the placement. Reductions in reproducible mode, and those that do not commute, use only
    /// these.
    rank_order = 8,
    needs_commons = 16,  ///< memory that all ranks map, and little data
    /// Where there is such memory it meets there, and shows its call by itself.
    meets_in_commons = 32,
};

inline constexpr std::size_t any_bytes = ~std::size_t{0};
inline constexpr int any_ranks = 1 << 30;

/// One row of the selection table: an algorithm, and when it is chosen.
struct Algorithm {
    OpKind kind;
    std::string_view name;
    Task (*run)(Call&);
    std::uint8_t traits = any_situation;
    std::size_t least_bytes = 0;  ///< chosen from this many bytes of `OpRecord::count` elements on
    int least_ranks = 1;
    int most_ranks = any_ranks;
    std::size_t most_bytes = any_bytes;
};

/// All rows. Of one kind, the last row that applies is chosen.
[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;

/// What the choice depends on: nothing on which the ranks of a group could differ.
struct Situation {
    OpKind kind;
    std::size_t bytes = 0;  ///< 0 where the ranks need not agree on it
    int ranks = 1;
    bool memory = false;         ///< every two ranks reach each other's memory
    bool commons = false;        ///< there is memory that all ranks map
    bool uneven = false;         ///< parts of different lengths
    bool widened = false;        ///< reduced in a type of twice the size
    bool several_hosts = false;  ///< and one of them has several ranks
    bool in_rank_order = false;  ///< asked for: only `rank_order` rows
};

/// The user's say: "all_reduce:ring,all_gather:0-4K:bruck", each entry an operation, perhaps a
/// range of sizes (bytes, with K, M or G; open at the end: "64K-"), and an algorithm. Throws
/// `invalid_argument` for what does not exist, listing what does.
class AlgorithmChoice {
public:
    AlgorithmChoice() = default;
    explicit AlgorithmChoice(std::string_view text);

    /// The algorithm for a situation: what the user asks for where it can run, else the table's.
    /// Throws `unsupported` where it never can: the ranks do not reach each other's memory, or
    /// reproducible mode does not permit it.
    [[nodiscard]] const Algorithm& select(const Situation& situation) const;

private:
    struct Entry {
        const Algorithm* row;
        std::size_t least_bytes = 0;
        std::size_t most_bytes = any_bytes;
    };
    std::vector<Entry> forced_;
};

}  // namespace trireme
