#include "job_choice.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "failure.h"

namespace trireme::tool {
namespace {

constexpr std::size_t most_title = 100;

std::size_t ranks_of(const RunningJob& job) {
    std::set<std::pair<int, int>> ranks;
    for (const FoundBoard& board : job.boards) {
        ranks.emplace(board.pid, board.view.rank());
    }
    return ranks.size();
}

}  // namespace

std::string title_of(const RunningJob& job) {
    std::string what = job.what.empty() ? "?" : job.what;
    if (what.size() > most_title) {
        what = what.substr(0, most_title) + "...";
    }
    return fmt::format("{}: {}", job.pid, what);
}

RunningJob select_job(std::vector<RunningJob> jobs, int pid) {
    RunningJob chosen;
    for (RunningJob& job : jobs) {
        if (std::ranges::none_of(job.boards, [&](const FoundBoard& board) {
                return pid == 0 || is_within(board.pid, pid);
            })) {
            continue;
        }
        if (chosen.boards.empty()) {
            chosen = std::move(job);
            continue;
        }
        chosen.pid = pid;
        chosen.what = "several jobs";
        std::ranges::move(job.boards, std::back_inserter(chosen.boards));
    }
    return chosen;
}

RunningJob choose_job(int pid, const std::string& command) {
    std::vector<RunningJob> jobs = find_jobs();
    if (pid == 0 && jobs.size() > 1) {
        std::string list;
        for (const RunningJob& job : jobs) {
            list += fmt::format("\n  trireme {} {:<8}  {} rank{}: {}", command, job.pid,
                                ranks_of(job), ranks_of(job) == 1 ? "" : "s", job.what);
        }
        throw Failure(fmt::format("{}: several jobs run; name one by the pid of its launcher or "
                                  "of a rank:{}",
                                  command, list),
                      2);
    }
    RunningJob job = select_job(std::move(jobs), pid);
    if (job.boards.empty()) {
        throw Failure(
            pid == 0 ? fmt::format("{}: no job of this user runs on this host", command)
                     : fmt::format("{}: process {} is no rank, and has none below it, that this "
                                   "user may look at",
                                   command, pid));
    }
    return job;
}

}  // namespace trireme::tool
