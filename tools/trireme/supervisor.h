#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include "job_store.h"
#include "line_printer.h"
#include "output.h"
#include "rank_environment.h"
#include "rank_set.h"
#include "run_options.h"

namespace trireme::tool {

/// Runs a job from its first process to its last.
///
/// It moves through its phases in one direction only, and may skip some: running; reporting, the
/// time after a first failure in which the others may say what they saw; stopping, after SIGTERM
/// (or the user's signal) to all; killing, after SIGKILL to all, repeated until nobody is left;
/// draining, when all processes are gone and their last output is being written.
class Supervisor {
public:
    /// `program` is the file to execute; `guard`: see RankSet. The ranks get `descriptors` as
    /// their limit of open files.
    Supervisor(RunOptions options, std::string program, std::string job_id, pid_t guard,
               rlimit descriptors);

    /// Returns the exit code of the launcher.
    int run();

private:
    enum class Phase { running, reporting, stopping, killing, draining };

    void start_ranks();
    std::unique_ptr<Rank> start_rank(int number, const Job& job, int stdin_fd);
    void listen_for_signals();
    void on_signal(int signal);
    void suspend();
    void on_output_change();
    void on_rank_ended(Rank& rank);
    void stop_others();
    void stop(int signal);
    void kill_all();
    void finish_if_all_ended();
    void drain();
    void leave();
    void write_summary();
    void set_timer(asio::steady_timer& timer, std::chrono::milliseconds time,
                   void (Supervisor::*what)());
    [[nodiscard]] int exit_code() const;

    RunOptions options_;
    std::string program_;
    std::string job_id_;
    std::string token_ = new_token();
    rlimit descriptors_;
    asio::io_context io_{1};
    asio::signal_set signals_{io_};
    asio::steady_timer phase_timer_{io_};  // the end of the present phase
    asio::steady_timer poll_timer_{io_};   // looks again for processes that are to go
    Output output_;
    LinePrinter printer_;
    JobStore store_{token_};
    RankSet ranks_;
    Phase phase_ = Phase::running;
    std::optional<int> first_failure_;
    std::optional<int> start_failure_;  // exit code, where the ranks could not all be started
    int user_signal_ = 0;               // the first signal that told the launcher to end
    int kill_rounds_ = 0;
    std::optional<std::chrono::steady_clock::time_point> all_ended_;  // with others left behind
};

}  // namespace trireme::tool
