#include "support/processes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace trireme::test {

Processes::Processes(int ranks, const std::function<int(int rank)>& body)
    : waited_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = ::fork();
        if (child == 0) {
            int result = 99;
            try {
                result = body(rank);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
            }
            ::_exit(result);
        }
        pids_.push_back(child);
    }
}

Processes::~Processes() {
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
        if (waited_[rank]) continue;
        ::kill(pids_[rank], SIGKILL);
        ::waitpid(pids_[rank], nullptr, 0);
    }
}

void Processes::signal(int rank, int number) const { ::kill(pid(rank), number); }

int Processes::wait(int rank) {
    int status = 0;
    ::waitpid(pid(rank), &status, 0);
    waited_[static_cast<std::size_t>(rank)] = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace trireme::test
