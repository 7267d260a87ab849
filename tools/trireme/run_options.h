#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::tool {

enum class OnFailure { stop, proceed };

/// The command line of `trireme run`.
struct RunOptions {
    int ranks = 1;
    OnFailure on_failure = OnFailure::stop;
    std::chrono::milliseconds report_time{2000};
    std::chrono::milliseconds grace{5000};
    std::uint16_t master_port = 0;  ///< 0: reserve one
    bool prefix = true;
    bool color = true;  ///< where the stream is a terminal
    std::string log_dir;
    std::vector<std::string> command;
};

/// What a command line asks for: a run, or, after --help or an error (both printed), to exit.
struct ParsedRun {
    std::optional<RunOptions> options;
    int exit_code = 0;
};

/// `arguments` are those after `trireme run`.
[[nodiscard]] ParsedRun parse_run(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
