#include "run_options.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cores.h"

namespace trireme::tool {
namespace {

constexpr int max_ranks = 65536;
constexpr double max_seconds = 1e6;

constexpr const char* examples = R"(Examples:
  trireme run -n 8 ./train --epochs 3
  trireme run -n auto -- python3 train.py
  trireme run -n 4 --log-dir logs --on-failure continue -- ./sweep

The ranks see RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the
rest of what torchrun sets; TRIREME_STORE and TRIREME_JOB; and OMP_NUM_THREADS unless it is set.
Exit code: 0; that of the first rank that failed (128 + signal where a signal killed it); 143 or
130 after SIGTERM or SIGINT; 127 or 126 where PROGRAM is not found or not executable; 2 for a
wrong command line.)";

class RunFormatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "\nUsage: trireme run -n N [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n";
    }
};

std::string check_ranks(const std::string& text) {
    int value = 0;
    if (text == "auto" ||
        (CLI::detail::lexical_cast(text, value) && value >= 1 && value <= max_ranks)) {
        return {};
    }
    const char* const hint = text.starts_with("p") ? "; write -n 4, not -np 4" : "";
    return fmt::format("must be auto or a number from 1 to {}, not \"{}\"{}", max_ranks, text,
                       hint);
}

std::string one_of_stop_or_continue(const std::string& text) {
    return text == "stop" || text == "continue"
               ? std::string{}
               : fmt::format("must be stop or continue, not \"{}\"", text);
}

std::chrono::milliseconds milliseconds_of(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

// What is left after our options: PROGRAM and its arguments, perhaps after "--".
std::vector<std::string> command_of(std::vector<std::string> rest) {
    if (!rest.empty() && rest.front() == "--") {
        rest.erase(rest.begin());
    } else if (!rest.empty() && rest.front().starts_with('-')) {
        throw CLI::ExtrasError("unknown option " + rest.front() + " (see trireme run --help)",
                               CLI::ExitCodes::ExtrasError);
    }
    if (rest.empty()) {
        throw CLI::RequiredError("PROGRAM");
    }
    return rest;
}

}  // namespace

ParsedRun parse_run(const std::vector<std::string>& arguments) {
    CLI::App app(
        "Starts N ranks of a program on this host, prefixes their output, and ends all\n"
        "of them when one fails.",
        "trireme run");
    app.set_help_flag("-h,--help", "Print this and exit.");
    app.formatter(std::make_shared<RunFormatter>());
    app.prefix_command();
    app.footer(examples);
    app.get_formatter()->column_width(26);
    app.get_formatter()->label("REQUIRED", "(required)");

    RunOptions options;
    std::string ranks;
    std::string on_failure = "stop";
    double report_seconds = 2;
    double grace_seconds = 5;
    bool no_prefix = false;
    bool no_color = false;
    app.add_option("-n,--ranks", ranks,
                   "How many ranks, or auto: one per core that may be used.\nExample: -n 8")
        ->required()
        ->type_name("N|auto")
        ->check(check_ranks);
    app.add_option("--on-failure", on_failure,
                   "When a rank fails, stop the others or let them continue (stop).\n"
                   "Example: --on-failure continue")
        ->type_name("stop|continue")
        ->check(one_of_stop_or_continue);
    app.add_option("--report-time", report_seconds,
                   "Seconds that the others get after the first failure, to report what\n"
                   "they saw, before they are sent SIGTERM (2).\nExample: --report-time 0.5")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, max_seconds).description(""));
    app.add_option("--grace", grace_seconds,
                   "Seconds between SIGTERM and SIGKILL (5).\nExample: --grace 30")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, max_seconds).description(""));
    app.add_option("--master-port", options.master_port,
                   "MASTER_PORT; without it a free port that is kept free for rank 0.\n"
                   "Example: --master-port 29500")
        ->type_name("PORT")
        ->check(CLI::Range(1, 65535).description(""));
    app.add_option("--log-dir", options.log_dir,
                   "Also write what rank N prints, as it is, to DIR/rank-N.log.\n"
                   "Example: --log-dir logs")
        ->type_name("DIR");
    app.add_flag("--no-prefix", no_prefix,
                 "Print the ranks' lines without their rank.\n"
                 "Example: trireme run -n 1 --no-prefix ./train");
    app.add_flag("--no-color", no_color,
                 "No colours on a terminal; setting NO_COLOR does the same.\n"
                 "Example: trireme run -n 4 --no-color ./train");
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
        options.command = command_of(app.remaining());
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return {.options = {}, .exit_code = app.exit(error)};
        }
        std::cerr << "trireme run: " << error.what() << "\nTry: trireme run --help\n";
        return {.options = {}, .exit_code = 2};
    }
    options.ranks = ranks == "auto" ? usable_cores() : std::stoi(ranks);
    options.on_failure = on_failure == "stop" ? OnFailure::stop : OnFailure::proceed;
    options.report_time = milliseconds_of(report_seconds);
    options.grace = milliseconds_of(grace_seconds);
    options.prefix = !no_prefix;
    const char* unwanted = std::getenv("NO_COLOR");
    options.color = !no_color && (unwanted == nullptr || *unwanted == '\0');
    return {.options = std::move(options), .exit_code = 0};
}

}  // namespace trireme::tool
