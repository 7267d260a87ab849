#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "ending.h"

namespace trireme::tool {

/// What became of a rank.
struct RankEnd {
    pid_t pid = 0;
    Ending ending;
    int stopped_by = 0;  ///< the last signal that the launcher had sent it; 0: none
};

/// "0-2, 4, 6-7"; `ranks` ascend.
[[nodiscard]] std::string rank_ranges(const std::vector<int>& ranks);

/// The table that closes a failed job: a row per rank, or per run of ranks with the same end; the
/// first failure marked. Lines without their last end.
[[nodiscard]] std::vector<std::string> summary_table(const std::vector<RankEnd>& ends,
                                                     std::optional<int> first_failure);

}  // namespace trireme::tool
