#include "limits.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "figure_text.h"
#include "limits_measure.h"

namespace trireme::bench {
namespace {

// Calls `tell` with each limit as soon as it is there.
template <class Tell>
void measure_all(double part, Tell tell) {
    for (const auto measure :
         {measure_memory, measure_process_memory, measure_cores, measure_loopback}) {
        for (const Limit& limit : measure(part)) tell(limit);
    }
}

void add_limit(nlohmann::json& limits, const Limit& limit) {
    nlohmann::json& entry = limits[limit.name];
    entry["about"] = limit.about;
    if (!limit.error.empty()) {
        entry["error"] = limit.error;
        return;
    }
    entry["best"] = limit.best;
    entry["median"] = limit.median;
    entry["unit"] = limit.unit;
    if (limit.copied_by_each > 0) {
        limits["copy_by_size"].push_back({{"bytes", limit.copied_by_each}, {"GBps", limit.best}});
    }
}

void print_limit(const Limit& limit) {
    if (!limit.error.empty()) {
        fmt::print("{:<44}  not possible here: {}\n", limit.about, limit.error);
    } else {
        fmt::print("{:<44}{:>9}{:>9}  {}\n", limit.about, ratio_text(limit.best),
                   ratio_text(limit.median), limit.unit);
    }
    std::fflush(stdout);
}

nlohmann::json empty_limits() { return {{"cores", allowed_cores().size()}}; }

int print_limits(const std::string& path) {
    std::ofstream file;
    if (!path.empty()) {
        file.open(path);
        if (!file) throw std::runtime_error("cannot write " + path);
    }
    nlohmann::json limits = empty_limits();
    fmt::print("This machine, {} core{}\n\n{:<44}{:>9}{:>9}\n", allowed_cores().size(),
               allowed_cores().size() == 1 ? "" : "s", "", "best", "median");
    std::fflush(stdout);
    measure_all(1, [&limits](const Limit& limit) {
        print_limit(limit);
        add_limit(limits, limit);
    });
    if (!path.empty()) {
        constexpr int indent = 2;
        file << limits.dump(indent) << '\n';
        if (!file.flush()) throw std::runtime_error("cannot write " + path);
    }
    return 0;
}

}  // namespace

nlohmann::json measure_limits(double part) {
    nlohmann::json limits = empty_limits();
    measure_all(part, [&limits](const Limit& limit) { add_limit(limits, limit); });
    return limits;
}

int limits_command(int argc, char** argv) {
    CLI::App app(
        "Measures what this machine can do: memory, caches, wake-ups, TCP. Takes about six "
        "seconds,\n"
        "on all cores; other work on them spoils the figures.",
        "trireme bench limits");
    std::string json;
    app.add_option(
           "--json", json,
           "Also write the figures to FILE.\nExample: trireme bench limits --json limits.json")
        ->type_name("FILE");
    try {
        app.parse(argc, argv);
        return print_limits(json);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "trireme bench limits: {} (see trireme bench limits --help)\n",
                   error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "trireme bench limits: {}\n", error.what());
        return 1;
    }
}

}  // namespace trireme::bench
