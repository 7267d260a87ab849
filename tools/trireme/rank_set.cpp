#include "rank_set.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "descendants.h"

namespace trireme::tool {

namespace {

// Whether a process has begun to end: its flags in /proc have PF_EXITING.
bool is_exiting(pid_t pid) {
    constexpr unsigned exiting = 4;
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // "pid (name) state ppid pgrp session tty tpgid flags ...", and the name may hold anything.
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state;
    long long skipped = 0;
    unsigned flags = 0;
    fields >> state;
    for (int i = 0; i < 5; ++i) fields >> skipped;
    fields >> flags;
    return state == "Z" || (flags & exiting) != 0;
}

}  // namespace

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
                                   if (Rank* cause = killed_before(rank)) rank_ended(*cause);
                                   rank_ended(rank);
                                   reap();
                               }
                           });
}

// A process that is killed hangs up on its peers before its own end shows, so that a peer may see
// that, give up and be gone first. Where a rank exits with an error, one that is being killed just
// now was the cause.
Rank* RankSet::killed_before(const Rank& rank) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOWAIT) != 0 ||
        info.si_code != CLD_EXITED || info.si_status == 0) {
        return nullptr;
    }
    for (const auto& other : ranks_) {
        if (other->number == rank.number || other->ending || !is_exiting(other->pid)) continue;
        constexpr int patience_ms = 1000;
        pollfd end{other->pid_fd.native_handle(), POLLIN, 0};
        if (::poll(&end, 1, patience_ms) != 1) continue;
        siginfo_t theirs{};
        if (::waitid(P_PID, static_cast<id_t>(other->pid), &theirs, WEXITED | WNOWAIT) == 0 &&
            (theirs.si_code == CLD_KILLED || theirs.si_code == CLD_DUMPED)) {
            return other.get();
        }
    }
    return nullptr;
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
