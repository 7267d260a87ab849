#include "cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace trireme::tool {

std::vector<std::filesystem::path> own_cgroups() {
    const std::filesystem::path root = "/sys/fs/cgroup";
    std::vector<std::filesystem::path> groups{root};
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("0::/")) {
            continue;
        }
        std::filesystem::path below = line.substr(4);
        for (; !below.empty(); below = below.parent_path()) {
            groups.push_back(root / below);
        }
    }
    return groups;
}

std::optional<double> left_in_cgroups(const char* limit, const char* used) {
    std::optional<double> least;
    for (const std::filesystem::path& group : own_cgroups()) {
        double most = 0;
        double now = 0;
        // "max" is no number: no limit here.
        if (std::ifstream(group / limit) >> most && std::ifstream(group / used) >> now) {
            least = std::min(least.value_or(most), std::max(0.0, most - now));
        }
    }
    return least;
}

}  // namespace trireme::tool
