#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/rank_report.h"

namespace trireme {

/// Where the ranks of a group part: the first collective at which they made different calls, or at
/// which some have come and others have not.
struct Divergence {
    struct Member {
        int rank = -1;                    ///< of the world
        std::optional<std::string> call;  ///< nothing: it has not come
        std::string doing{};              ///< see `describe_doing`
        bool recorded = true;             ///< false: it came, and the record is gone
    };

    std::string group;
    std::uint32_t stream = 0;
    std::uint64_t sequence = 0;
    bool mismatch = false;  ///< else some have not come
    std::vector<Member> members{};
    /// How long the first that came has waited for the others. In a job that runs some are always
    /// a moment ahead of others.
    std::chrono::nanoseconds age{0};
    int unseen = 0;  ///< members of which there is no report
};

/// The divergence of each group of one world, by the reports of its ranks, of which some may be
/// missing. A group that is in step has none. Those whose calls differ come first, then the oldest.
[[nodiscard]] std::vector<Divergence> find_divergences(const std::vector<RankReport>& world);

/// For each rank those that wait for it: it has not come to the collective, or to the other side of
/// the message, in which they have been for longer than a moment.
[[nodiscard]] std::map<int, std::vector<int>> find_awaited(const std::vector<RankReport>& world);

/// The reports of each world, by rank; of two of one rank the later one. Those of ranks that have
/// not met yet go by their job.
[[nodiscard]] std::vector<std::vector<RankReport>> split_worlds(std::vector<RankReport> reports);

}  // namespace trireme
