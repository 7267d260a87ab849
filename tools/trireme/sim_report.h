#pragma once

#include <cstddef>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/simulation.h"
#include "sim_options.h"

namespace trireme::tool {

/// One line of the table: a simulation, or why there is none.
struct SimRow {
    int ranks = 0;
    std::size_t bytes = 0;
    const Algorithm* algorithm = nullptr;
    bool chosen = false;  ///< by the selection table
    std::string skipped;  ///< why; empty: `result` is there
    SimulationResult result{};
};

/// The table on stdout, a line at a time, the progress on stderr where that is a terminal, and the
/// JSON file at the end.
class SimReport {
public:
    /// Throws Failure where the file cannot be written.
    explicit SimReport(const SimOptions& options);

    void print_head() const;
    /// What is being simulated now.
    void show_progress(int ranks, std::size_t bytes, std::string_view algorithm) const;
    void add(SimRow row);
    /// Writes the file, and says what the marks mean. Throws Failure.
    void finish();
    [[nodiscard]] bool found_wrong_values() const noexcept { return wrong_; }

private:
    void clear_progress() const;

    const SimOptions& options_;
    bool terminal_;
    bool wrong_ = false;
    std::set<std::pair<const Algorithm*, std::string>> said_;  // skipped, and why
    std::vector<SimRow> rows_;
    std::ofstream json_;  // opened before the first simulation, which may take minutes
};

}  // namespace trireme::tool
