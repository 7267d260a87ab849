#include "rank_set.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "descendants.h"

namespace trireme::tool {

RankSet::RankSet(pid_t guard, Ended ended) : guard_(guard), ended_(std::move(ended)) {}

void RankSet::add(std::unique_ptr<Rank> rank) {
    ranks_.push_back(std::move(rank));
    Rank& added = *ranks_.back();
    added.out.read_on();
    added.err.read_on();
    if (added.pid_fd.is_open()) {
        watch(added);
    }
}

std::vector<int> RankSet::running() const {
    std::vector<int> numbers;
    for (const auto& rank : ranks_) {
        if (!rank->ending) {
            numbers.push_back(rank->number);
        }
    }
    return numbers;
}

void RankSet::signal_ranks(int signal) {
    for (const auto& rank : ranks_) {
        if (!rank->ending) {
            ::kill(rank->pid, signal);
        }
    }
}

// Only groups whose leader has not been waited for: until then its number belongs to nobody else.
void RankSet::signal_groups(int signal) {
    for (const auto& rank : ranks_) {
        if (!rank->ending) {
            ::kill(-rank->pid, signal);
        }
    }
}

void RankSet::end_all(int signal) {
    // Strays first: a group's death makes orphans, a moment in which the tree is not to be read.
    for (const Descendant& process : descendants(guard_)) {
        if (!process.zombie && running_rank(process.group) == nullptr) {
            ::kill(process.pid, signal);
        }
    }
    signal_groups(signal);
    for (const auto& rank : ranks_) {
        if (!rank->ending) {
            rank->stopped_by = signal;
        }
    }
}

std::vector<pid_t> RankSet::leftovers() const {
    std::vector<pid_t> left;
    for (const Descendant& process : descendants(guard_)) {
        if (!process.zombie && running_rank(process.pid) == nullptr) {
            left.push_back(process.pid);
        }
    }
    return left;
}

// The event loop hands out process descriptors in the order in which they became readable, so the
// first failure is the first death, also when the launcher runs only after several. waitpid(-1)
// knows no order.
void RankSet::watch(Rank& rank) {
    rank.pid_fd.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this, &rank](asio::error_code error) {
                               if (!error && !rank.ending) {
                                   rank_ended(rank);
                                   reap();
                               }
                           });
}

void RankSet::rank_ended(Rank& rank) {
    int status = 0;
    pid_t pid = 0;
    do {
        pid = ::waitpid(rank.pid, &status, 0);
    } while (pid < 0 && errno == EINTR);
    rank.ending = ending_of(status);
    rank.pid_fd.close();
    ended_(rank);
}

void RankSet::reap() {
    for (;;) {
        siginfo_t info{};
        if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        Rank* rank = running_rank(info.si_pid);
        if (rank == nullptr) {
            ::waitpid(info.si_pid, nullptr, 0);
        } else if (rank->pid_fd.is_open()) {
            return;  // its turn comes, and then ours again
        } else {
            rank_ended(*rank);
        }
    }
}

Rank* RankSet::running_rank(pid_t pid) const {
    for (const auto& rank : ranks_) {
        if (rank->pid == pid && !rank->ending) {
            return rank.get();
        }
    }
    return nullptr;
}

}  // namespace trireme::tool
