#include "guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "descendants.h"
#include "failure.h"

namespace trireme::tool {
namespace {

// Everything but the pipe is closed, or a reader of the launcher's output would wait for the
// guard too.
void keep_only(int fd) {
    if (::dup2(fd, 3) < 0) {
        ::_exit(1);
    }
    ::close_range(4, ~0U, 0);
    const int null = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard <= 2; ++standard) {
        ::dup2(null, standard);
    }
    ::close(null);
}

[[noreturn]] void stand_guard(int fd, const std::string& job_id) {
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);  // a Ctrl-C or a TERM to all must not take it away
    ::setsid();
    ::prctl(PR_SET_NAME, "trireme-guard");
    keep_only(fd);
    char goodbye = 0;
    ssize_t n = 0;
    do {
        n = ::read(3, &goodbye, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        ::_exit(0);
    }
    const std::string entry = "TRIREME_JOB=" + job_id;
    // Again and again, for those that were being forked meanwhile; killed ones vanish soon.
    for (int round = 0, quiet = 0; round < 200 && quiet < 3; ++round) {
        const auto left = processes_with(entry);
        quiet = left.empty() ? quiet + 1 : 0;
        for (const pid_t pid : left) {
            ::kill(pid, SIGKILL);
        }
        ::usleep(20'000);
    }
    ::_exit(0);
}

}  // namespace

Guard::Guard(const std::string& job_id) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        throw system_failure("pipe");
    }
    const UniqueFd reading(ends[0]);
    pipe_.reset(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) {
        throw system_failure("fork");
    }
    if (pid_ == 0) {
        stand_guard(reading.get(), job_id);
    }
}

void Guard::dismiss() noexcept {
    if (!pipe_) {
        return;
    }
    const char goodbye = 1;
    // The guard may have been killed: then this fails (SIGPIPE is ignored) and there is nothing
    // to do about it.
    [[maybe_unused]] const ssize_t n = ::write(pipe_.get(), &goodbye, 1);
    pipe_.reset();
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace trireme::tool
