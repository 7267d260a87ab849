#pragma once

#include <string>
#include <vector>

#include "observe/job.h"

namespace trireme::tool {

/// The job with a rank that is the process `pid` or below it, whole; 0: the only job that runs.
/// Where several jobs fit a `pid` that was given, all of them as one. Throws Failure where there is
/// none, or several to choose from, which it lists; `command` is for the examples in it.
[[nodiscard]] RunningJob choose_job(int pid, const std::string& command);

/// As above, from `jobs`; without boards where there is none.
[[nodiscard]] RunningJob select_job(std::vector<RunningJob> jobs, int pid);

/// "4711: trireme run -n 4 -- ./train".
[[nodiscard]] std::string title_of(const RunningJob& job);

}  // namespace trireme::tool
