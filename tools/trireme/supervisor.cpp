#include "supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <asio/post.hpp>

#include "cores.h"
#include "failure.h"
#include "port_reservation.h"
#include "summary.h"

namespace trireme::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds poll_interval{50};
constexpr int max_kill_rounds = 200;  // ten seconds: who survives that hangs in the kernel
// Helpers that end with their rank (a pipe closes, say) need a moment to do so.
constexpr milliseconds linger_time{1000};

bool shows_color(int fd) {
    const char* term = std::getenv("TERM");
    return ::isatty(fd) == 1 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

LinePrinter::Style style_of(const RunOptions& options) {
    return {.prefix = options.prefix,
            .color_out = options.color && shows_color(STDOUT_FILENO),
            .color_err = options.color && shows_color(STDERR_FILENO)};
}

// Rank 0 reads the launcher's stdin, unless that is a terminal in whose background we run: the
// rank, being in another session, would not be stopped but would take what is typed for others.
UniqueFd stdin_of_first_rank() {
    if (::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {
        return UniqueFd();
    }
    return UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
}

std::string seconds(milliseconds time) { return fmt::format("{:g} s", time.count() / 1000.0); }

}  // namespace

Supervisor::Supervisor(RunOptions options, std::string program, std::string job_id, pid_t guard,
                       rlimit descriptors)
    : options_(std::move(options)),
      program_(std::move(program)),
      job_id_(std::move(job_id)),
      descriptors_(descriptors),
      output_([this] { asio::post(io_, [this] { on_output_change(); }); }),
      printer_(output_, options_.ranks, style_of(options_)),
      ranks_(guard, [this](Rank& rank) { on_rank_ended(rank); }) {}

int Supervisor::run() {
    listen_for_signals();
    std::optional<PortReservation> reservation;
    if (options_.master_port == 0) {
        options_.master_port = reservation.emplace().port();
    }
    try {
        start_ranks();
    } catch (const Failure& failure) {
        printer_.note(failure.what());
        start_failure_ = failure.exit_code();
        kill_all();
    }
    ranks_.reap();
    finish_if_all_ended();
    io_.run();
    if (!output_.idle()) {
        ::_exit(exit_code());  // its reader is stuck, and the user does not want to wait
    }
    return exit_code();
}

void Supervisor::start_ranks() {
    const Job job{.id = job_id_,
                  .ranks = options_.ranks,
                  .cores = usable_cores(),
                  .master_port = options_.master_port,
                  .store = store_.address(),
                  .token = token_};
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd input = stdin_of_first_rank();
    for (int number = 0; number < options_.ranks; ++number) {
        const bool reads = number == 0 && input;
        ranks_.add(start_rank(number, job, reads ? input.get() : nothing.get()));
    }
}

std::unique_ptr<Rank> Supervisor::start_rank(int number, const Job& job, int stdin_fd) {
    RankLog log = options_.log_dir.empty() ? RankLog() : RankLog(options_.log_dir, number);
    Process process = start_process({.path = program_,
                                     .arguments = options_.command,
                                     .environment = rank_environment(job, number, environ),
                                     .stdin_fd = stdin_fd,
                                     .descriptors = descriptors_});
    return std::make_unique<Rank>(io_, std::move(process), number, printer_, std::move(log));
}

void Supervisor::listen_for_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2}) {
        signals_.add(signal);
    }
    struct sigaction hangup{};
    if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        signals_.add(SIGHUP);  // not under nohup
    }
    signals_.async_wait([this](asio::error_code error, int signal) {
        if (!error) {
            on_signal(signal);
        }
    });
}

void Supervisor::on_signal(int signal) {
    signals_.async_wait([this](asio::error_code error, int next) {
        if (!error) {
            on_signal(next);
        }
    });
    if (signal == SIGCHLD) {
        ranks_.reap();
    } else if (signal == SIGUSR1 || signal == SIGUSR2) {
        ranks_.signal_ranks(signal);
    } else if (signal == SIGTSTP) {
        suspend();
    } else if (phase_ == Phase::draining) {
        user_signal_ = user_signal_ != 0 ? user_signal_ : signal;
        io_.stop();
    } else if (user_signal_ == 0) {
        user_signal_ = signal;
        if (phase_ < Phase::killing) {
            stop(signal);
        }
    } else if (phase_ < Phase::killing) {
        printer_.note(fmt::format("{} again: killing all ranks", signal_name(signal)));
        kill_all();
    }
}

// Ctrl-Z reaches only the launcher: the ranks are in sessions of their own.
void Supervisor::suspend() {
    ranks_.signal_groups(SIGSTOP);
    ::raise(SIGSTOP);
    ranks_.signal_groups(SIGCONT);
}

void Supervisor::on_output_change() {
    if (output_.broken() && user_signal_ == 0 && phase_ < Phase::stopping) {
        user_signal_ = SIGPIPE;
        stop(SIGTERM);
    }
    for (const auto& rank : ranks_.all()) {
        rank->out.read_on();
        rank->err.read_on();
    }
    if (phase_ == Phase::draining && output_.idle()) {
        io_.stop();
    }
}

void Supervisor::on_rank_ended(Rank& rank) {
    if (const std::string error = store_.publish(rank.number, *rank.ending); !error.empty()) {
        printer_.note(error);
    }
    rank.out.take_rest();
    rank.err.take_rest();
    const bool of_itself = phase_ == Phase::running || phase_ == Phase::reporting;
    if (rank.ending->failed() && of_itself) {
        if (!first_failure_ || options_.on_failure == OnFailure::proceed) {
            printer_.note(
                fmt::format("rank {} (pid {}) {}", rank.number, rank.pid, describe(*rank.ending)));
        }
        first_failure_ = first_failure_.value_or(rank.number);
        if (phase_ == Phase::running && options_.on_failure == OnFailure::stop) {
            phase_ = Phase::reporting;
            set_timer(phase_timer_, options_.report_time, &Supervisor::stop_others);
        }
    }
    finish_if_all_ended();
}

void Supervisor::stop_others() { stop(SIGTERM); }

void Supervisor::stop(int signal) {
    phase_ = Phase::stopping;
    if (const auto running = ranks_.running(); !running.empty()) {
        printer_.note(fmt::format("sending {} to rank{} {}; SIGKILL follows after {}",
                                  signal_name(signal), running.size() == 1 ? "" : "s",
                                  rank_ranges(running), seconds(options_.grace)));
    }
    ranks_.end_all(signal);
    set_timer(phase_timer_, options_.grace, &Supervisor::kill_all);
}

void Supervisor::kill_all() {
    phase_ = Phase::killing;
    phase_timer_.cancel();
    if (++kill_rounds_ > max_kill_rounds) {
        printer_.note(fmt::format("processes {} survive SIGKILL; giving up",
                                  fmt::join(ranks_.leftovers(), ", ")));
        drain();
        return;
    }
    ranks_.end_all(SIGKILL);
    finish_if_all_ended();
    if (phase_ == Phase::killing) {
        set_timer(poll_timer_, poll_interval, &Supervisor::kill_all);
    }
}

void Supervisor::finish_if_all_ended() {
    if (phase_ == Phase::draining || !ranks_.running().empty()) {
        return;
    }
    const auto left = ranks_.leftovers();
    if (left.empty()) {
        drain();
        return;
    }
    if (phase_ == Phase::killing) {
        return;  // kill_all comes again by itself
    }
    const auto now = std::chrono::steady_clock::now();
    all_ended_ = all_ended_.value_or(now);
    if (phase_ != Phase::stopping && now - *all_ended_ >= linger_time) {
        printer_.note(
            fmt::format("ending what the ranks left behind: pid {}", fmt::join(left, ", ")));
        stop(SIGTERM);
    }
    set_timer(poll_timer_, poll_interval, &Supervisor::finish_if_all_ended);
}

void Supervisor::drain() {
    phase_ = Phase::draining;
    phase_timer_.cancel();
    poll_timer_.cancel();
    for (const auto& rank : ranks_.all()) {
        rank->out.take_rest();
        rank->err.take_rest();
    }
    if (first_failure_) {
        write_summary();
    }
    if (output_.idle()) {
        leave();
    } else if (user_signal_ != 0) {
        set_timer(phase_timer_, options_.grace, &Supervisor::leave);
    }
}

void Supervisor::leave() { io_.stop(); }

void Supervisor::write_summary() {
    const auto& first = *ranks_.all()[static_cast<std::size_t>(*first_failure_)];
    if (first.ending == Ending{.by_signal = true, .value = SIGKILL}) {
        printer_.note(
            "a SIGKILL that nobody sent is mostly the kernel's, out of memory: see dmesg");
    }
    if (ranks_.all().size() == 1) {
        return;
    }
    std::vector<RankEnd> ends;
    for (const auto& rank : ranks_.all()) {
        ends.push_back({.pid = rank->pid,
                        .ending = rank->ending.value_or(Ending{}),
                        .stopped_by = rank->stopped_by});
    }
    printer_.note(fmt::format("the job failed; first rank {} (pid {}) {}", first.number, first.pid,
                              describe(*first.ending)));
    for (const std::string& line : summary_table(ends, first_failure_)) {
        printer_.note(line);
    }
}

void Supervisor::set_timer(asio::steady_timer& timer, milliseconds time,
                           void (Supervisor::*what)()) {
    timer.expires_after(time);
    timer.async_wait([this, what](asio::error_code error) {
        if (!error) {
            (this->*what)();
        }
    });
}

int Supervisor::exit_code() const {
    if (user_signal_ != 0) {
        return 128 + user_signal_;
    }
    if (start_failure_) {
        return *start_failure_;
    }
    return first_failure_
               ? ranks_.all()[static_cast<std::size_t>(*first_failure_)]->ending->exit_code()
               : 0;
}

}  // namespace trireme::tool
