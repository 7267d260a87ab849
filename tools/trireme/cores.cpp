#include "cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cgroup.h"

namespace trireme::tool {
namespace {

int cores_of_affinity() {
    // The kernel refuses a mask smaller than its own, whose size it does not tell: try sizes.
    for (int cpus = CPU_SETSIZE; cpus <= 64 * CPU_SETSIZE; cpus *= 2) {
        cpu_set_t* mask = CPU_ALLOC(static_cast<std::size_t>(cpus));
        const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
        CPU_ZERO_S(bytes, mask);
        const int result = sched_getaffinity(0, bytes, mask);
        const int error = errno;
        const int count = result == 0 ? CPU_COUNT_S(bytes, mask) : 0;
        CPU_FREE(mask);
        if (result == 0) {
            return count;
        }
        if (error != EINVAL) {
            break;
        }
    }
    return static_cast<int>(std::thread::hardware_concurrency());
}

// The quota of one cgroup (version 2): "max 100000", or "150000 100000" for one core and a half.
double quota_of(const std::filesystem::path& group) {
    std::ifstream file(group / "cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) {
        return HUGE_VAL;
    }
    return std::strtod(quota.c_str(), nullptr) / period;
}

double smallest_quota() {
    double quota = HUGE_VAL;
    for (const std::filesystem::path& group : own_cgroups()) {
        quota = std::min(quota, quota_of(group));
    }
    return quota;
}

}  // namespace

int usable_cores() {
    const int affinity = std::max(1, cores_of_affinity());
    const double quota = std::max(1.0, std::ceil(smallest_quota()));
    return quota < affinity ? static_cast<int>(quota) : affinity;
}

}  // namespace trireme::tool
