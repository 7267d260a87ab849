#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/group.h"
#include "verify/comparison.h"

namespace spdlog {
class logger;
}

namespace trireme::verify {

/// The log of this rank, `rank-<R>.log` in `directory`; one that goes nowhere if that is empty.
[[nodiscard]] std::shared_ptr<spdlog::logger> make_log(const std::string& directory, int rank);

/// What the checks found, on all ranks together.
class Report {
public:
    Report(Group all, std::shared_ptr<spdlog::logger> log);

    /// Ends a check: it has passed if it has on every rank, and its error is the largest of all.
    /// Collective over all ranks.
    void add(const std::string& name, const Comparison& comparison);

    /// A line per check, then `N passed, M failed`.
    void print() const;
    /// Writes {"passed", "failed", "checks": [{"name", "passed", "max_error"}]}; an error that is
    /// not finite becomes null.
    void write_json(const std::string& path) const;

    [[nodiscard]] bool all_passed() const noexcept { return failed() == 0; }

private:
    struct Check {
        std::string name;
        bool passed;
        double max_error;
    };
    [[nodiscard]] std::size_t failed() const noexcept;

    Group all_;
    std::shared_ptr<spdlog::logger> log_;
    std::vector<Check> checks_;
};

}  // namespace trireme::verify
