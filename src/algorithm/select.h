#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/call.h"

namespace trireme {

/// One row of the selection table: an algorithm, and when it is chosen.
struct Algorithm {
    OpKind kind;
    std::string_view name;
    Task (*run)(Call&);
    std::size_t least_bytes = 0;  ///< chosen from this many bytes of `OpRecord::count` elements on
    int least_ranks = 1;
    int most_ranks = 1 << 30;
    bool needs_memory = false;  ///< the memory verbs, between every two ranks of the group
};

/// All rows. Of one kind, the last row that applies is chosen.
[[nodiscard]] std::span<const Algorithm> algorithms() noexcept;

/// The user's say: "all_reduce:ring,broadcast:binomial". Throws `invalid_argument` for an unknown
/// operation or algorithm, listing the known ones.
class AlgorithmChoice {
public:
    AlgorithmChoice() = default;
    explicit AlgorithmChoice(std::string_view text);

    /// The algorithm for an operation of `bytes` on `ranks` ranks. Depends on nothing on which
    /// the ranks of a group could differ.
    [[nodiscard]] const Algorithm& select(OpKind kind, std::size_t bytes, int ranks,
                                          bool memory) const;

private:
    std::vector<const Algorithm*> forced_;
};

}  // namespace trireme
