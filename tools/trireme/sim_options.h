#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "algorithm/select.h"
#include "link/sim/cost_model.h"

namespace trireme::tool {

/// What `trireme sim` was asked for.
struct SimOptions {
    OpKind kind = OpKind::all_reduce;
    std::vector<int> ranks;
    std::vector<std::size_t> sizes;
    int hosts = 1;
    std::vector<const Algorithm*> algorithms;  ///< the operation's, or the one that was named
    CostModel costs;
    std::size_t memory_limit = 0;
    bool check = false;
    std::string json;  ///< a file; empty: none
};

struct ParsedSim {
    std::optional<SimOptions> options;
    int exit_code = 0;  ///< where there are none
};

/// Prints help, and what is wrong with the arguments.
[[nodiscard]] ParsedSim parse_sim(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
