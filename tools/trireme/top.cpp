#include "top.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include "failure.h"
#include "job_choice.h"
#include "terminal.h"
#include "top_view.h"

namespace trireme::tool {
namespace {

struct TopOptions {
    int pid = 0;
    double interval = 1;
    bool once = false;
    bool json = false;
};

constexpr const char* top_examples = R"(Examples:
  trireme top                      the only job of this user on this host
  trireme top 4711 --interval 0.5  the job with this launcher, or this rank
  trireme top --once --json        one look, for programs

Ends with the job, or with q or Ctrl-C. A rank for which others wait while it waits for none of them
is marked as the straggler. Rates are of the last interval; bytes are those of messages, without
what a rank sends to itself. It reads what the ranks keep in memory, and costs them nothing.
Exit code: 0; 1 where there is no such job; 2 for a wrong command line.)";

std::chrono::steady_clock::duration interval_of(const TopOptions& options) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(options.interval));
}

class Top {
public:
    explicit Top(const TopOptions& options)
        : options_(options), job_(choose_job(options.pid, "top")) {
        options_.pid = options.pid != 0 ? options.pid : job_.pid;
        before_ = make_reports(job_.boards, 1);
        if (!options.once && !options.json && ::isatty(STDOUT_FILENO) == 1) {
            terminal_.emplace();
        }
    }

    int run() {
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            signals_.add(signal);
        }
        signals_.async_wait([this](asio::error_code error, int /*signal*/) {
            if (!error) {
                io_.stop();
            }
        });
        if (terminal_) {
            // The first rates come after an interval; what the ranks do is known now.
            print(compare_looks(before_, before_));
            if (terminal_->has_keys()) {
                keys_.emplace(io_, ::dup(STDIN_FILENO));
                await_key();
            }
        }
        await_tick();
        io_.run();
        terminal_.reset();
        if (job_.boards.empty()) {
            fmt::print(stderr, "trireme top: the job has ended\n");
        }
        return 0;
    }

private:
    void await_tick() {
        timer_.expires_after(interval_of(options_));
        timer_.async_wait([this](asio::error_code error) {
            if (!error) {
                tick();
            }
        });
    }

    void tick() {
        look_for_ranks();
        std::vector<RankReport> now = make_reports(job_.boards, 1);
        if (std::ranges::all_of(
                now, [](const RankReport& one) { return one.state == ProcessState::ended; })) {
            job_.boards.clear();
            return io_.stop();
        }
        const auto worlds = compare_looks(before_, now);
        before_ = std::move(now);
        print(worlds);
        if (options_.once) {
            return io_.stop();
        }
        await_tick();
    }

    // Ranks that started meanwhile come in; a rank that has ended stays, and a world that a living
    // one has left goes.
    void look_for_ranks() {
        RunningJob present = select_job(find_jobs(), options_.pid);
        for (FoundBoard& known : job_.boards) {
            const bool there = std::ranges::any_of(present.boards, [&](const FoundBoard& one) {
                return one.pid == known.pid && one.view.rank() == known.view.rank() &&
                       one.view.made() == known.view.made();
            });
            if (!there && process_state(known.pid) == ProcessState::ended) {
                present.boards.push_back(std::move(known));
            }
        }
        job_.boards = std::move(present.boards);
    }

    void print(const std::vector<TopWorld>& worlds) const {
        if (options_.json) {
            fmt::print("{}", top_json(worlds, job_.pid));
        } else {
            const std::time_t now = std::time(nullptr);
            std::tm parts{};
            ::localtime_r(&now, &parts);
            TopStyle style;
            if (terminal_) {
                const Terminal::Size size = Terminal::size();
                style = {.color = true, .width = size.width, .height = size.height - 2};
            }
            std::string head = fmt::format("{:%H:%M:%S}  job {}", parts, title_of(job_));
            if (style.width != 0) {
                head.resize(std::min(head.size(), style.width));
            }
            show(head + "\n" + top_text(worlds, style));
        }
        std::fflush(stdout);
    }

    void show(const std::string& text) const {
        if (!terminal_) {
            fmt::print("{}{}", text, options_.once ? "" : "\n");
            return;
        }
        // Written over what is there, line by line: a screen that is cleared first flickers.
        std::string screen = "\033[H";
        for (const char letter : text) {
            screen += letter == '\n' ? "\033[K\n" : std::string(1, letter);
        }
        fmt::print("{}\033[J", screen);
    }

    void await_key() {
        keys_->async_read_some(asio::buffer(key_), [this](asio::error_code error, std::size_t) {
            if (error) {
                return;
            }
            if (key_.front() == 'q' || key_.front() == 'Q') {
                return io_.stop();
            }
            await_key();
        });
    }

    TopOptions options_;
    RunningJob job_;
    std::vector<RankReport> before_;
    asio::io_context io_{1};
    asio::steady_timer timer_{io_};
    asio::signal_set signals_{io_};
    std::optional<asio::posix::stream_descriptor> keys_;
    std::array<char, 1> key_{};
    std::optional<Terminal> terminal_;
};

}  // namespace

int top(const std::vector<std::string>& arguments) {
    TopOptions options;
    CLI::App app("Watches the ranks of a job that runs on this host.", "trireme top");
    app.set_help_flag("-h,--help", "Print this and exit.");
    app.footer(top_examples);
    app.add_option("JOB", options.pid,
                   "The pid of the launcher, of a rank, or of anything above ranks;\n"
                   "without it: the only job that runs.\nExample: trireme top 4711")
        ->type_name("")
        ->check(CLI::PositiveNumber.description(""));
    app.add_option("--interval", options.interval,
                   "Seconds between two looks (1).\nExample: --interval 0.5")
        ->type_name("S")
        ->check(CLI::Range(0.05, 3600.0).description(""));
    app.add_flag("--once", options.once,
                 "Look twice, an interval apart, print once, and end.\nExample: --once");
    app.add_flag("--json", options.json,
                 "As JSON, for programs: one line per look.\nExample: trireme top --once --json");
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        throw Failure(fmt::format("top: {} (see trireme top --help)", error.what()), 2);
    }
    return Top(options).run();
}

}  // namespace trireme::tool
