#include "sim.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/simulation.h"
#include "sim_options.h"
#include "sim_report.h"
#include "trireme/error.h"

namespace trireme::tool {
namespace {

// Those that are really simulated: several that were asked for may round up to the same.
std::vector<std::size_t> sizes_for(const SimOptions& options, int ranks) {
    std::vector<std::size_t> sizes;
    for (const std::size_t size : options.sizes) {
        sizes.push_back(simulated_bytes(options.kind, ranks, size));
    }
    std::ranges::sort(sizes);
    const auto doubles = std::ranges::unique(sizes);
    sizes.erase(doubles.begin(), doubles.end());
    return sizes;
}

class Sweep {
public:
    explicit Sweep(const SimOptions& options) : options_(options), report_(options) {}

    int run() {
        report_.print_head();
        for (const int ranks : options_.ranks) {
            for (const std::size_t bytes : sizes_for(options_, ranks)) {
                run_point(ranks, bytes);
            }
        }
        report_.finish();
        return report_.found_wrong_values() ? 1 : 0;
    }

private:
    void run_point(int ranks, std::size_t bytes) {
        const Algorithm& choice = table_choice(options_.kind, ranks, options_.hosts, bytes);
        for (const Algorithm* algorithm : options_.algorithms) {
            SimRow row{.ranks = ranks,
                       .bytes = bytes,
                       .algorithm = algorithm,
                       .chosen = algorithm == &choice,
                       .skipped = obstacle_to_simulation(*algorithm, ranks, options_.hosts)};
            if (row.skipped.empty()) {
                row.skipped = too_large_[algorithm];
            }
            if (row.skipped.empty()) {
                simulate_row(row);
            }
            report_.add(std::move(row));
        }
    }

    void simulate_row(SimRow& row) {
        report_.show_progress(row.ranks, row.bytes, row.algorithm->name);
        try {
            row.result = simulate({.algorithm = row.algorithm,
                                   .ranks = row.ranks,
                                   .hosts = options_.hosts,
                                   .bytes = row.bytes,
                                   .costs = options_.costs,
                                   .real = options_.check,
                                   .memory_limit = options_.memory_limit});
        } catch (const Error& error) {
            if (error.code() != ErrorCode::unsupported) {
                throw;
            }
            // Other sizes need as many links.
            row.skipped =
                fmt::format("from {} ranks on {}: see --memory-GB", row.ranks, error.what());
            too_large_[row.algorithm] = row.skipped;
        }
    }

    const SimOptions& options_;
    SimReport report_;
    std::map<const Algorithm*, std::string> too_large_;  // and why; ranks only grow
};

}  // namespace

int sim(const std::vector<std::string>& arguments) {
    const ParsedSim parsed = parse_sim(arguments);
    if (!parsed.options) {
        return parsed.exit_code;
    }
    return Sweep(*parsed.options).run();
}

}  // namespace trireme::tool
