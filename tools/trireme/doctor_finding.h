#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trireme::tool {

enum class Verdict { ok, warning, failure };

/// What the doctor has found out about one thing, and what helps.
struct Finding {
    std::string check;  ///< "open files"
    Verdict verdict = Verdict::ok;
    std::string text;
    std::string remedy{};  ///< empty where nothing is wrong
};

using Findings = std::vector<Finding>;

/// The job that the machine is looked at for.
struct Patient {
    int ranks = 1;  ///< on this host
    int world = 1;  ///< on all hosts
};

// Each looks at one side of this machine.
[[nodiscard]] Findings check_limits(const Patient& patient);
[[nodiscard]] Findings check_memory(const Patient& patient);
[[nodiscard]] Findings check_processes();
[[nodiscard]] Findings check_network(const Patient& patient);
[[nodiscard]] Findings check_clocks(const Patient& patient);

/// Whether the names of these hosts lead to them.
[[nodiscard]] Findings check_hosts(const std::vector<std::string>& hosts);

/// The first line of a file; empty where there is none.
[[nodiscard]] std::string line_of_file(const std::string& path);
/// "1.5 GiB".
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace trireme::tool
