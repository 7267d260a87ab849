#include "bench_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace trireme::bench {
namespace {

constexpr const char* about =
    "Measures operations, and those of other libraries in turn with them, on this machine.\n"
    "Prints a table: time of a call in microseconds (min, median, 90th percentile), bandwidths, "
    "wrong elements, each peer's median, and the ratio of the best peer's to ours.\n"
    "Exit code 0; 1 if results were wrong or Trireme failed; 2 for an impossible command line.\n"
    "Example: trireme bench all_reduce -n 2,4 --sizes 8,1K,1M --peers openmpi,mpich,gloo\n"
    "Further: trireme bench page, trireme bench limits, trireme bench compare; each has --help";

constexpr std::size_t most_bytes = std::size_t{1} << 34U;

std::size_t parse_size(const std::string& text) {
    std::size_t value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    const std::size_t power = unit.empty() ? 0 : std::string_view("KMG").find(unit) + 1;
    if (error != std::errc{} || unit.size() > 1 || (!unit.empty() && power == 0) ||
        value > most_bytes >> (10 * power)) {
        throw UsageError(
            fmt::format("--sizes: \"{}\" is no size up to 16G; write 8, 64K or 2M", text));
    }
    return value << (10 * power);
}

std::vector<Operation> parse_operations(const std::vector<std::string>& names) {
    std::vector<Operation> operations;
    std::vector<std::string_view> all;
    for (const OperationInfo& row : operation_table) {
        all.push_back(row.name);
    }
    for (const std::string& name : names) {
        if (name != "all" && std::ranges::find(all, name) == all.end()) {
            throw UsageError(fmt::format("no operation is called \"{}\"; there are {}, and all",
                                         name, fmt::join(all, ", ")));
        }
        for (const std::string_view one : all) {
            const Operation operation = operation_named(one);
            const bool known = std::ranges::find(operations, operation) != operations.end();
            if ((name == "all" || name == one) && !known) {
                operations.push_back(operation);
            }
        }
    }
    return operations;
}

/// What CLI11 reads as words.
struct Words {
    std::vector<std::string> operations;
    std::vector<std::string> sizes{"8", "1K", "16K", "256K", "1M", "16M", "64M"};
    std::string element = "float32";
    std::string iterations = "auto";
    std::string warmup = "auto";
    std::string buffers = "user";
    int check = 1;
};

void add_what(CLI::App& app, Options& options, Words& words) {
    app.add_option("operation", words.operations, "Which to measure: all_reduce broadcast, or all")
        ->required();
    app.add_option("-n,--ranks", options.ranks, "Numbers of ranks: -n 2,4,8")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option("--sizes", words.sizes,
                   "Bytes, of each rank's data or, where it has parts for all ranks, of all parts: "
                   "--sizes 8,1K,16M")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("--dtype", words.element, "Element type: --dtype bfloat16")
        ->check([](const std::string& name) -> std::string {
            for (const ElementInfo& row : element_table) {
                if (row.name == name) {
                    return {};
                }
            }
            return name +
                   " is none of float32, float64, bfloat16, float16, int8, uint8, int32, "
                   "int64";
        })
        ->capture_default_str();
    app.add_option("--op", options.reduce, "Reduction: --op max")
        ->check(CLI::IsMember({"sum", "prod", "min", "max", "avg"}))
        ->capture_default_str();
    app.add_flag("--in-place", options.in_place,
                 "In place, where an operation can be: --in-place --out-of-place measures both. "
                 "Default: all_reduce, reduce and scan in place, the others not");
    app.add_flag("--out-of-place", options.out_of_place,
                 "From one buffer to another: --out-of-place");
    app.add_option("--buffers", words.buffers,
                   "Whose memory ours works on, the caller's or the library's: --buffers both")
        ->check(CLI::IsMember({"user", "shared", "both"}))
        ->capture_default_str();
    app.add_option(
           "--peers", options.peers,
           "Libraries to compare with; bare: Trireme without fingerprint, recorder and board, see "
           "scripts/cost: --peers openmpi,mpich,gloo")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"openmpi", "mpich", "gloo", "bare"}));
    app.add_option(
           "--hosts", options.hosts,
           "2: half of the ranks on each of two hosts, which are network namespaces of this "
           "machine (needs root): --hosts 2")
        ->check(CLI::Range(1, 2))
        ->capture_default_str();
}

void add_how(CLI::App& app, Options& options, Words& words) {
    app.add_option("--iterations", words.iterations,
                   "Times to take in a turn; auto: as many as fit: --iterations 100")
        ->capture_default_str();
    app.add_option("--warmup", words.warmup, "Calls before them, in each turn: --warmup 10")
        ->expected(0, 1)
        ->capture_default_str();
    app.add_option("--check", words.check, "0: do not look at results: --check 0")
        ->check(CLI::Range(0, 1))
        ->capture_default_str();
    app.add_option("--turns", options.turns,
                   "How often each contestant has its turn with a size: --turns 5")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--turn-seconds", options.turn_seconds,
                   "How long a turn takes, longer where three calls do: --turn-seconds 0.5")
        ->check(CLI::Range(0.001, 60.))
        ->capture_default_str();
    app.add_option("--limit-seconds", options.cell_seconds,
                   "A contestant whose turn takes so long is given up: --limit-seconds 60")
        ->check(CLI::Range(1., 1e5))
        ->capture_default_str();
    app.add_option("--minutes", options.minutes,
                   "Leave out what is not begun after that time: --minutes 20. Default: no limit")
        ->check(CLI::Range(0., 1e5));
    app.add_option("--json", options.json, "All results go into this file: --json results.json");
    app.add_option("--html", options.html,
                   "And, as a page with curves, into this one; measures the machine's limits for "
                   "it: --html results.html");
    app.add_flag("--limits", options.limits,
                 "Measure the machine's limits for --json too, in six seconds: --limits");
}

int parse_count(const char* option, const std::string& text, int automatic) {
    int value = 0;
    const char* last = text.data() + text.size();
    if (text.empty() || text == "auto") {
        return automatic;
    }
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last || value < automatic + 1 || value > 1'000'000) {
        throw UsageError(fmt::format("{}: \"{}\" is neither auto nor a number from {} to 1000000",
                                     option, text, automatic + 1));
    }
    return value;
}

void refuse_what_does_not_fit(const Options& options) {
    const ElementInfo& element = info(options.element);
    if (options.reduce == "avg" && !element.is_floating) {
        throw UsageError(fmt::format("--op avg: {} has no averages", element.name));
    }
    for (const int ranks : options.ranks) {
        if (options.hosts > 1 && ranks % options.hosts != 0) {
            throw UsageError(
                fmt::format("-n {}: as many ranks on each of {} hosts", ranks, options.hosts));
        }
    }
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
    Options options;
    Words words;
    CLI::App app(about, "trireme bench");
    add_what(app, options, words);
    add_how(app, options, words);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        app.exit(help);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        throw UsageError(std::string(error.what()) + " (see trireme bench --help)");
    }
    options.operations = parse_operations(words.operations);
    for (const std::string& size : words.sizes) {
        options.sizes.push_back(parse_size(size));
    }
    options.element = element_named(words.element);
    options.iterations = parse_count("--iterations", words.iterations, 0);
    options.warmup = parse_count("--warmup", words.warmup, -1);
    options.check = words.check != 0;
    options.limits = options.limits || !options.html.empty();
    options.user_buffers = words.buffers != "shared";
    options.shared_buffers = words.buffers != "user";
    refuse_what_does_not_fit(options);
    return options;
}

std::vector<bool> forms_of(Operation operation, const Options& options) {
    const OperationInfo& row = info(operation);
    std::vector<bool> forms;
    if (options.in_place && row.can_be_in_place) {
        forms.push_back(true);
    }
    if (options.out_of_place && row.can_be_out_of_place) {
        forms.push_back(false);
    }
    if (forms.empty()) {
        forms.push_back(row.can_be_in_place && operation != Operation::all_gather);
    }
    return forms;
}

}  // namespace trireme::bench
