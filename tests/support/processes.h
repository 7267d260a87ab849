#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace trireme::test {

/// Ranks that are processes: children of the test, which hold nothing of it but what was there when
/// they were made. What still runs at the end is killed.
class Processes {
public:
    /// Runs `body(rank)` in each and exits with its result; 99 where it throws, with the text on
    /// standard error.
    Processes(int ranks, const std::function<int(int rank)>& body);
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    ~Processes();

    [[nodiscard]] pid_t pid(int rank) const { return pids_.at(static_cast<std::size_t>(rank)); }
    void signal(int rank, int number) const;
    /// Waits for its end: its exit code, or minus the signal that killed it.
    int wait(int rank);

private:
    std::vector<pid_t> pids_;
    std::vector<bool> waited_;
};

}  // namespace trireme::test
