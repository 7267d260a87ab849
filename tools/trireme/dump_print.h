#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "observe/divergence.h"

namespace trireme::tool {

struct DumpStyle {
    std::string title{};   ///< of the job; empty: none
    std::size_t last = 0;  ///< so many operations of each rank
};

[[nodiscard]] std::string dump_text(const std::vector<std::vector<RankReport>>& worlds,
                                    const DumpStyle& style);
[[nodiscard]] std::string dump_json(const std::vector<std::vector<RankReport>>& worlds,
                                    const DumpStyle& style);

/// The ranks of a world of which there is no report; of very many the first ones.
[[nodiscard]] std::vector<int> absent_ranks(const std::vector<RankReport>& world);

/// "world 3f2a9c11, 4 ranks".
[[nodiscard]] std::string name_world(const RankReport& any);

}  // namespace trireme::tool
