#pragma once

#include <optional>
#include <string>
#include <vector>

#include "observe/board_view.h"
#include "observe/rank_report.h"

namespace trireme {

/// A rank's board, and the process that keeps it, as seen from here.
struct FoundBoard {
    int pid = 0;
    BoardView view;
};

/// Ranks that belong together: of one launcher, of one world, or of one process.
struct RunningJob {
    int pid = 0;         ///< the launcher, or what else the ranks have as their nearest ancestor
    std::string id{};    ///< the launcher's name for it; empty without one
    std::string what{};  ///< the command line of `pid`
    std::vector<FoundBoard> boards{};
};

/// The boards of all processes that may be looked at: this user's. Without any server: boards are
/// memory without a name, found by the descriptors that /proc shows.
[[nodiscard]] std::vector<FoundBoard> find_boards();

/// The jobs on this host.
[[nodiscard]] std::vector<RunningJob> find_jobs();

/// What is compared to find out which boards belong together.
struct BoardFacts {
    int pid = 0;
    std::string job{};    ///< may be empty
    std::string world{};  ///< may be empty
};

/// For each board the number of its job, from 0 on.
[[nodiscard]] std::vector<std::size_t> number_jobs(const std::vector<BoardFacts>& boards);

/// Whether `pid` is `ancestor` or below it.
[[nodiscard]] bool is_within(int pid, int ancestor);

/// The reports of all boards, with the last `most` operations of each.
[[nodiscard]] std::vector<RankReport> make_reports(const std::vector<FoundBoard>& boards,
                                                   std::size_t most);

}  // namespace trireme
