#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trireme {

/// Names of the files of a trace: `DIR/trireme-JOB.json`, and `DIR/trireme-JOB.rank-3.part` while
/// it is not put together.

/// TRIREME_JOB, or a time; with a number where the folder has a trace of that name.
[[nodiscard]] std::string free_trace_name(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path trace_path(const std::filesystem::path& folder,
                                               const std::string& job);
[[nodiscard]] std::filesystem::path trace_part_path(const std::filesystem::path& folder,
                                                    const std::string& job, int rank);
/// In the order of their ranks.
[[nodiscard]] std::vector<std::filesystem::path> find_trace_parts(
    const std::filesystem::path& folder, const std::string& job);
/// The jobs of which there are parts.
[[nodiscard]] std::vector<std::string> find_trace_jobs(const std::filesystem::path& folder);

}  // namespace trireme
