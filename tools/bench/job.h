#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "contest/channel.h"
#include "ground.h"
#include "lineup.h"

namespace trireme::bench {

/// A contestant's ranks, as processes that are kept for all cells of a number of ranks.
///
/// One that dies, hangs or reports an error is ended, and says why; nothing is asked of it again.
class Job {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// Starts the processes; `admit` and `begin` follow.
    Job(Entry entry, int ranks, const Ground& ground);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job();

    [[nodiscard]] const Entry& entry() const noexcept { return entry_; }
    /// Why it takes part no more; empty: it does.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    [[nodiscard]] bool is_complete() const;

    /// Takes in a rank that has introduced itself by `hello`.
    void admit(Channel channel, const nlohmann::json& hello);
    /// Whether a process of a job that is not complete has ended; then it fails.
    void look_for_death();
    void fail(const std::string& why);

    /// Sends `question` to all ranks and waits for their answers, in rank order; nothing, and a
    /// failure, where one does not come in time.
    std::optional<std::vector<nlohmann::json>> ask(const nlohmann::json& question, Time deadline);
    /// Sends what has no answer.
    void tell(const nlohmann::json& message);

private:
    struct Member {
        Channel channel;
        pid_t pid = -1;
    };

    void start(std::size_t process, const Ground& ground);
    void end();
    [[nodiscard]] std::string last_words() const;

    Entry entry_;
    std::vector<Member> members_;  // by rank
    std::vector<pid_t> processes_;
    std::string log_;
    int meeting_ = -1;
    std::string failure_;
};

}  // namespace trireme::bench
