#include "grid.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench_table.h"
#include "contest.h"
#include "ground.h"
#include "limits.h"
#include "trireme/version.h"

namespace trireme::bench {
namespace {

using std::chrono::steady_clock;

nlohmann::json machine() {
    std::string model = "unknown processor";
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) {
            model = line.substr(line.find(':') + 2);
            break;
        }
    }
    std::string kernel;
    std::ifstream("/proc/sys/kernel/osrelease") >> kernel;
    return {{"processor", model},
            {"cores", std::thread::hardware_concurrency()},
            {"kernel", "Linux " + kernel}};
}

/// The cells of an operation with so many ranks, in the order of the table.
std::vector<Cell> cells_of(Operation operation, int ranks, const Options& options) {
    std::vector<Cell> cells;
    if (is_point_to_point(operation) && ranks < 2) {
        return cells;
    }
    const std::vector<std::size_t> no_size{0};
    for (const bool in_place : forms_of(operation, options)) {
        for (const std::size_t size : operation == Operation::barrier ? no_size : options.sizes) {
            cells.push_back({operation, options.element, options.reduce, size, in_place, false});
        }
    }
    return cells;
}

class Run {
public:
    Run(const Options& options, bool& failed)
        : options_(options), failed_(failed), table_(options) {}

    nlohmann::json all() {
        const Ground ground(options_.hosts);
        for (const int ranks : options_.ranks) {
            if (!is_late()) {
                measure_with(ranks, ground);
            }
        }
        if (is_late()) {
            table_.say(fmt::format("{} of {} cells were left out: --minutes {:g} are over",
                                   cells_in_all() - done_, cells_in_all(), options_.minutes));
        }
        return rows_;
    }

private:
    void measure_with(int ranks, const Ground& ground) {
        Contest contest(options_, ranks, ground, [&](const std::string& text) {
            table_.show(fmt::format("[{}/{}] {}", done_ + 1, cells_in_all(), text));
        });
        tell_failures(contest);
        for (const Operation operation : options_.operations) {
            const std::vector<Cell> cells = cells_of(operation, ranks, options_);
            if (cells.empty()) {
                table_.say(fmt::format("{} needs two ranks", info(operation).name));
                continue;
            }
            if (!is_late()) {
                table_.begin(operation, ranks);
            }
            for (const Cell& cell : cells) {
                if (!is_late()) {
                    measure(contest, cell);
                }
            }
        }
        failed_ = failed_ || contest.ours_failed();
    }

    void measure(Contest& contest, const Cell& cell) {
        for (const CellResult& result : contest.measure(cell)) {
            table_.print(result);
            failed_ = failed_ || result.wrong.value_or(0) > 0;
            for (const auto& [entry, why] : result.left_out) {
                if (result.cell.shared && entry == "trireme") {
                    table_.say(fmt::format("--buffers shared: {}", why));
                }
            }
            rows_.push_back(result);
        }
        tell_failures(contest);
        ++done_;
    }

    void tell_failures(Contest& contest) {
        for (const std::string& failure : contest.take_failures()) {
            table_.say(failure);
        }
    }

    [[nodiscard]] bool is_late() const {
        const std::chrono::duration<double> spent = steady_clock::now() - start_;
        return options_.minutes > 0 && spent.count() > options_.minutes * 60;
    }

    [[nodiscard]] std::size_t cells_in_all() const {
        std::size_t count = 0;
        for (const int ranks : options_.ranks) {
            for (const Operation operation : options_.operations) {
                count += cells_of(operation, ranks, options_).size();
            }
        }
        return count;
    }

    const Options& options_;
    bool& failed_;
    Table table_;
    steady_clock::time_point start_ = steady_clock::now();
    std::size_t done_ = 0;
    nlohmann::json rows_ = nlohmann::json::array();
};

}  // namespace

nlohmann::json run_grid(const Options& options, bool& failed) {
    const std::time_t now = std::time(nullptr);
    nlohmann::json report{{"date", fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(now))},
                          {"trireme", TRIREME_VERSION},
                          {"machine", machine()}};
    if (options.limits) {
        report["limits"] = measure_limits();
    }
    report["rows"] = Run(options, failed).all();
    return report;
}

}  // namespace trireme::bench
