// How much of what the kernel counts a job may have.

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cgroup.h"
#include "descriptor_limit.h"
#include "doctor_finding.h"
#include "group/bootstrap_socket.h"

namespace trireme::tool {
namespace {

std::string limit_text(rlim_t limit) {
    return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

// The soft limit does not matter: launcher and ranks raise it as far as they may.
Finding check_descriptors(const Patient& patient) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t launcher = descriptors_for_launcher(patient.ranks, true);
    const rlim_t rank = bootstrap::descriptors_needed(patient.world);
    const rlim_t needed = std::max(launcher, rank);
    Finding finding{
        "open files", Verdict::ok,
        fmt::format("at most {}; the launcher of {} ranks needs {}, a rank in a world of {} {}",
                    limit_text(limit.rlim_max), patient.ranks, launcher, patient.world, rank)};
    if (limit.rlim_max < needed) {
        finding.verdict = Verdict::failure;
        finding.remedy = fmt::format(
            "ulimit -Hn {}, as root; for good: \"* hard nofile {}\" in /etc/security/limits.conf, "
            "LimitNOFILE={} in a systemd unit, docker run --ulimit nofile={}",
            needed, needed, needed, needed);
    }
    return finding;
}

// Trireme locks no memory itself.
Finding check_locked_memory() {
    constexpr rlim_t usual = rlim_t{8} << 20;
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    Finding finding{"locked memory", Verdict::ok,
                    limit.rlim_max == RLIM_INFINITY
                        ? "unlimited"
                        : fmt::format("at most {}; Trireme needs none, a backend for InfiniBand or "
                                      "GPUs may need much",
                                      bytes_text(static_cast<double>(limit.rlim_max)))};
    if (limit.rlim_max < usual) {
        finding.verdict = Verdict::warning;
        finding.remedy =
            "\"* hard memlock unlimited\" in /etc/security/limits.conf, LimitMEMLOCK=infinity in a "
            "systemd unit, docker run --ulimit memlock=-1";
    }
    return finding;
}

// A rank has its own thread and one of Trireme's; libtorch has as many as there are cores.
Finding check_process_limit(const Patient& patient) {
    constexpr int threads_of_rank = 8;
    rlimit limit{};
    ::getrlimit(RLIMIT_NPROC, &limit);
    const auto wanted = static_cast<rlim_t>(patient.ranks) * threads_of_rank;
    const auto in_group = left_in_cgroups("pids.max", "pids.current");
    Finding finding{
        "processes", Verdict::ok,
        fmt::format("at most {} processes and threads of this user{}; {} ranks want {}",
                    limit_text(limit.rlim_cur),
                    in_group ? fmt::format(", {:.0f} more in this cgroup", *in_group) : "",
                    patient.ranks, wanted)};
    const auto room = std::min(static_cast<double>(limit.rlim_cur),
                               in_group.value_or(static_cast<double>(RLIM_INFINITY)));
    if (room < static_cast<double>(wanted)) {
        finding.verdict = room < 2.0 * patient.ranks ? Verdict::failure : Verdict::warning;
        finding.remedy = fmt::format(
            "ulimit -u {}; of a cgroup: TasksMax={} in a systemd unit, docker run --pids-limit {}",
            wanted, wanted, wanted);
    }
    return finding;
}

}  // namespace

Findings check_limits(const Patient& patient) {
    return {check_descriptors(patient), check_locked_memory(), check_process_limit(patient)};
}

}  // namespace trireme::tool
