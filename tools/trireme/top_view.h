#pragma once

#include <string>
#include <vector>

#include "observe/rank_report.h"

namespace trireme::tool {

struct TopRank {
    int rank = 0;
    int pid = 0;
    ProcessState state = ProcessState::running;
    std::string what{};   ///< the operation that it is in, or "user code, after ..."
    std::string group{};  ///< of that operation
    double age = 0;       ///< seconds, of what it does
    double operations_per_second = 0;
    double sent_per_second = 0;  ///< bytes, to other ranks
    double received_per_second = 0;
    std::vector<int> awaited_by{};
    bool straggler = false;  ///< others wait for it, and it for none
};

struct TopLink {
    int from = 0;
    int to = 0;
    double bytes_per_second = 0;
};

struct TopWorld {
    std::string job{};
    std::string world{};
    std::string title{};
    std::vector<int> absent{};
    std::vector<TopRank> ranks{};
    std::vector<TopLink> links{};  ///< the busiest first
};

/// What has happened between two looks at the ranks of a job.
[[nodiscard]] std::vector<TopWorld> compare_looks(const std::vector<RankReport>& before,
                                                  std::vector<RankReport> now);

struct TopStyle {
    bool color = false;
    std::size_t width = 0;   ///< lines are cut; 0: not
    std::size_t height = 0;  ///< as many lines at most; 0: all
};

[[nodiscard]] std::string top_text(const std::vector<TopWorld>& worlds, const TopStyle& style);
/// One line.
[[nodiscard]] std::string top_json(const std::vector<TopWorld>& worlds, int pid);

}  // namespace trireme::tool
