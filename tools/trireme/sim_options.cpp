#include "sim_options.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "core/op_info.h"
#include "sim_range.h"

namespace trireme::tool {
namespace {

constexpr std::size_t most_ranks = 65536;
constexpr std::size_t most_bytes = std::size_t{64} << 30;
constexpr std::size_t most_checked_ranks = 64;
constexpr double most_microseconds = 1e6;
constexpr double least_bandwidth = 1e-3;
constexpr double most_bandwidth = 1e5;

constexpr const char* sim_examples = R"(Examples:
  trireme sim all_reduce --ranks 16:4096 --size 8:64M --hosts 8
  trireme sim broadcast --ranks 1024 --size 1M --algorithm binomial
  trireme sim all_to_all --ranks 2:64 --size 64K --check

Every rank runs the library's own algorithm over a simulated network; docs/simulation.md says what
is modelled. Columns: `best` is the least that any algorithm can do where a rank sends one message
at a time; steps is the longest chain of messages of which each needs the one before; sent/rank is
the payload of the rank that sends most, with what it reads and writes in the memory of others.
* marks what the selection table chooses.
Exit code: 0; 1 where --check found a wrong value; 2 for a wrong command line.)";

class SimFormatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "\nUsage: trireme sim OPERATION [OPTIONS]\n";
    }
};

// The lengths that a range has; a CLI11 check.
auto in_range(std::size_t factor, std::size_t least, std::size_t most) {
    return [=](const std::string& text) -> std::string {
        try {
            static_cast<void>(parse_range(text, factor, least, most));
            return {};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
}

std::vector<const Algorithm*> algorithms_of(OpKind kind, const std::string& name) {
    std::vector<const Algorithm*> rows;
    std::vector<std::string_view> known;
    for (const Algorithm& row : algorithms()) {
        if (row.kind != kind) {
            continue;
        }
        known.push_back(row.name);
        // That of a group of one is no algorithm to look at.
        if (name.empty() ? row.most_ranks > 1 : row.name == name) {
            rows.push_back(&row);
        }
    }
    if (rows.empty()) {
        throw CLI::ValidationError(
            "--algorithm", fmt::format("\"{}\" is none of {}; there are {}", name, info(kind).name,
                                       fmt::join(known, ", ")));
    }
    return rows;
}

OpKind kind_named(const std::string& name) {
    std::vector<std::string_view> known;
    for (const OpInfo& row : op_table) {
        if (row.point_to_point) {
            continue;
        }
        if (row.name == name) {
            return row.kind;
        }
        known.push_back(row.name);
    }
    throw CLI::ValidationError(
        "OPERATION", fmt::format("\"{}\" is none; there are {}", name, fmt::join(known, ", ")));
}

// As they are written on the command line.
struct Texts {
    std::string operation;
    std::string ranks = "2:64";
    std::string sizes = "8:64M";
    std::string algorithm;
    double latency = in_microseconds(CostModel().between_hosts.latency);
    double host_latency = in_microseconds(CostModel().in_host.latency);
    double overhead = in_microseconds(CostModel().per_message);
    double memory = 4;
};

void add_plan(CLI::App& app, Texts& texts, SimOptions& options) {
    app.add_option("OPERATION", texts.operation,
                   "all_reduce, broadcast, reduce, all_gather, gather, scatter,\n"
                   "reduce_scatter, all_to_all, barrier, scan or exclusive_scan;\n"
                   "float32, sum, root 0.")
        ->required()
        ->type_name("");
    app.add_option("--ranks", texts.ranks,
                   "How many ranks: a number, a list, or a range, which doubles from\n"
                   "point to point, or goes by four if that is more than six (2:64).\n"
                   "Example: --ranks 16:4096")
        ->type_name("N|A:B")
        ->check(in_range(4, 1, most_ranks));
    app.add_option("--size", texts.sizes,
                   "Bytes of an operand, of the longer one where they differ, rounded\n"
                   "up to one element per rank; a long range goes by eight (8:64M).\n"
                   "Example: --size 4K,1M")
        ->type_name("S|A:B")
        ->check(in_range(8, 0, most_bytes));
    app.add_option("--hosts", options.hosts,
                   "Hosts, on which the ranks are placed in blocks (1).\nExample: --hosts 8")
        ->type_name("N")
        ->check(CLI::Range(1, static_cast<int>(most_ranks)).description(""));
    app.add_option("--algorithm", texts.algorithm,
                   "Only this one, instead of all.\nExample: --algorithm ring")
        ->type_name("NAME");
}

void add_costs(CLI::App& app, Texts& texts, SimOptions& options) {
    const auto microseconds = CLI::Range(0.0, most_microseconds).description("");
    const auto bandwidth = CLI::Range(least_bandwidth, most_bandwidth).description("");
    app.add_option("--latency-us", texts.latency,
                   "Latency between hosts, in microseconds (5).\nExample: --latency-us 2.5")
        ->type_name("US")
        ->check(microseconds);
    app.add_option("--bandwidth-GBps", options.costs.between_hosts.gigabytes_per_second,
                   "Bandwidth of a rank between hosts, in 10^9 bytes per second (12.5).\n"
                   "Example: --bandwidth-GBps 50")
        ->type_name("GBPS")
        ->check(bandwidth);
    app.add_option("--host-latency-us", texts.host_latency,
                   "Latency within a host (0.5).\nExample: --host-latency-us 0.3")
        ->type_name("US")
        ->check(microseconds);
    app.add_option("--host-bandwidth-GBps", options.costs.in_host.gigabytes_per_second,
                   "Bandwidth of a rank within a host (20).\nExample: --host-bandwidth-GBps 10")
        ->type_name("GBPS")
        ->check(bandwidth);
    app.add_option("--overhead-us", texts.overhead,
                   "What a frame costs the processor, on each side (0.2).\n"
                   "Example: --overhead-us 1")
        ->type_name("US")
        ->check(microseconds);
    app.add_option("--reduce-GBps", options.costs.reduce_gigabytes_per_second,
                   "How fast a rank combines values (10).\nExample: --reduce-GBps 4")
        ->type_name("GBPS")
        ->check(bandwidth);
}

void add_rest(CLI::App& app, Texts& texts, SimOptions& options) {
    app.add_option("--memory-GB", texts.memory,
                   "Skip what needs more memory than this for its links (4).\n"
                   "Example: --memory-GB 16")
        ->type_name("GB")
        ->check(CLI::Range(0.01, 1e4).description(""));
    app.add_flag("--check", options.check,
                 "Move real data and compare the results with a plain computation;\n"
                 "up to 64 ranks.\nExample: trireme sim scan --ranks 2:64 --size 4K --check");
    app.add_option("--json", options.json,
                   "Also write the results to FILE.\nExample: --json sim.json")
        ->type_name("FILE");
}

void take_over(const Texts& texts, SimOptions& options) {
    options.kind = kind_named(texts.operation);
    for (const std::size_t ranks : parse_range(texts.ranks, 4, 1, most_ranks)) {
        if (options.check && ranks > most_checked_ranks) {
            throw CLI::ValidationError("--check",
                                       fmt::format("moves real data, for {} ranks at most, not {}",
                                                   most_checked_ranks, ranks));
        }
        options.ranks.push_back(static_cast<int>(ranks));
    }
    std::ranges::sort(options.ranks);
    options.sizes = parse_range(texts.sizes, 8, 0, most_bytes);
    options.algorithms = algorithms_of(options.kind, texts.algorithm);
    options.costs.between_hosts.latency = sim_microseconds(texts.latency);
    options.costs.in_host.latency = sim_microseconds(texts.host_latency);
    options.costs.per_message = sim_microseconds(texts.overhead);
    constexpr double gigabyte = 1e9;
    options.memory_limit = static_cast<std::size_t>(texts.memory * gigabyte);
}

}  // namespace

ParsedSim parse_sim(const std::vector<std::string>& arguments) {
    CLI::App app(
        "Runs an operation's algorithms with up to thousands of virtual ranks in this process,\n"
        "and shows how steps, bytes and time grow.",
        "trireme sim");
    app.set_help_flag("-h,--help", "Print this and exit.");
    app.formatter(std::make_shared<SimFormatter>());
    app.footer(sim_examples);
    app.get_formatter()->column_width(30);
    app.get_formatter()->label("REQUIRED", "(required)");
    Texts texts;
    SimOptions options;
    add_plan(app, texts, options);
    add_costs(app, texts, options);
    add_rest(app, texts, options);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
        take_over(texts, options);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return {.options = {}, .exit_code = app.exit(error)};
        }
        std::cerr << "trireme sim: " << error.what() << "\nTry: trireme sim --help\n";
        return {.options = {}, .exit_code = 2};
    }
    return {.options = std::move(options), .exit_code = 0};
}

}  // namespace trireme::tool
