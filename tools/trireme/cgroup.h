#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace trireme::tool {

/// The folders of this process's cgroup (version 2) and of those above it, as far as they can be
/// seen. Inside a container its own group is mounted as the root.
[[nodiscard]] std::vector<std::filesystem::path> own_cgroups();

/// What is left of the tightest of their limits: the difference of the files `limit` and `used`,
/// such as memory.max and memory.current. Nothing where there is no limit.
[[nodiscard]] std::optional<double> left_in_cgroups(const char* limit, const char* used);

}  // namespace trireme::tool
