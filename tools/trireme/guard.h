#pragma once

#include <sys/types.h>

#include <string>

#include "core/unique_fd.h"

namespace trireme::tool {

/// A small process that outlives a launcher killed by SIGKILL and ends what the job left.
///
/// The ranks themselves die with the launcher (PR_SET_PDEATHSIG), but not their children. The
/// guard sleeps on a pipe whose other end only the launcher holds. When the pipe closes without a
/// goodbye it kills every process that carries the job's TRIREME_JOB in its environment.
class Guard {
public:
    /// Forks; call it while the process has one thread.
    explicit Guard(const std::string& job_id);
    ~Guard() { dismiss(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// The job is over: the guard goes without looking for anybody.
    void dismiss() noexcept;

private:
    UniqueFd pipe_;
    pid_t pid_ = -1;
};

}  // namespace trireme::tool
