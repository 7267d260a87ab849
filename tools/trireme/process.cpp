#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "failure.h"
#include "program_path.h"

namespace trireme::tool {
namespace {

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

Pipe make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw system_failure("pipe");
    }
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& text : strings) {
        result.push_back(const_cast<char*>(text.c_str()));  // execve promises not to write
    }
    result.push_back(nullptr);
    return result;
}

/// What the child needs, prepared before the fork: other threads may hold any lock at that
/// moment, so that between fork and exec only async-signal-safe calls are allowed.
struct ChildPlan {
    const char* path;
    char* const* arguments;
    char* const* environment;
    int in, out, err, report;
    rlimit descriptors;
    pid_t launcher;
};

// The launcher's handlers are reset by exec, but what it ignores would stay ignored. SIGHUP is
// left as it is, for nohup.
void restore_signals() noexcept {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    for (const int signal :
         {SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCHLD, SIGUSR1, SIGUSR2}) {
        ::sigaction(signal, &action, nullptr);
    }
    struct sigaction hangup{};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        ::sigaction(SIGHUP, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const ChildPlan& plan) noexcept {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.launcher) {
        ::_exit(128 + SIGKILL);  // the launcher died before the line above took effect
    }
    bool ok = ::dup2(plan.in, 0) >= 0 && ::dup2(plan.out, 1) >= 0 && ::dup2(plan.err, 2) >= 0;
    if (plan.in == 0) {
        ok = ok && ::fcntl(0, F_SETFD, 0) == 0;
    }
    ::setrlimit(RLIMIT_NOFILE, &plan.descriptors);
    restore_signals();
    if (ok) {
        ::execve(plan.path, plan.arguments, plan.environment);
    }
    const int error = errno;
    [[maybe_unused]] const ssize_t n = ::write(plan.report, &error, sizeof error);
    ::_exit(127);
}

// With signals blocked from before the fork to the child's own reset: a handler run in the child
// would write into the event loop that it shares with the launcher.
pid_t fork_into(const ChildPlan& plan) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    if (pid == 0) {
        become(plan);
    }
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return pid;
}

// 0 once the program runs (exec closed the pipe), else errno of what failed in the child.
int exec_error(const UniqueFd& report) {
    int error = 0;
    ssize_t n = 0;
    do {
        n = ::read(report.get(), &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

}  // namespace

Process start_process(const ProcessPlan& plan) {
    Pipe out = make_pipe();
    Pipe err = make_pipe();
    Pipe report = make_pipe();
    const auto arguments = pointers(plan.arguments);
    const auto environment = pointers(plan.environment);
    const ChildPlan child{.path = plan.path.c_str(),
                          .arguments = arguments.data(),
                          .environment = environment.data(),
                          .in = plan.stdin_fd,
                          .out = out.write.get(),
                          .err = err.write.get(),
                          .report = report.write.get(),
                          .descriptors = plan.descriptors,
                          .launcher = ::getpid()};
    Process process;
    process.pid = fork_into(child);
    if (process.pid < 0) {
        const int error = errno;
        throw Failure(fmt::format("cannot start another process: {}{}", std::strerror(error),
                                  error == EAGAIN ? " (see ulimit -u and the pids limit of the "
                                                    "control group)"
                                                  : ""));
    }
    report.write.reset();
    if (const int error = exec_error(report.read)) {
        ::waitpid(process.pid, nullptr, 0);
        throw_not_executable(plan.path, error);
    }
    process.pid_fd.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    process.out = std::move(out.read);
    process.err = std::move(err.read);
    return process;
}

}  // namespace trireme::tool
