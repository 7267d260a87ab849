#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/unique_fd.h"

namespace trireme::tool {

/// What to start.
struct ProcessPlan {
    std::string path;
    std::vector<std::string> arguments;  ///< with the program's name first
    std::vector<std::string> environment;
    int stdin_fd = -1;
    rlimit descriptors{};  ///< the limit of open files that the process gets
};

/// A started process: leader of a session and a process group of its own, so that a signal to
/// the group reaches its children and a Ctrl-C at the terminal reaches only the launcher.
struct Process {
    pid_t pid = -1;
    UniqueFd pid_fd;  ///< readable once the process has ended; empty on kernels before 5.3
    UniqueFd out;     ///< what it writes to stdout
    UniqueFd err;
};

/// Starts a process that is killed when this *thread* ends (the kernel's rule for
/// PR_SET_PDEATHSIG): call it from the main thread. Throws Failure where the process cannot be
/// made or the program not executed; nothing remains then.
[[nodiscard]] Process start_process(const ProcessPlan& plan);

}  // namespace trireme::tool
