// Memory, and what ranks of one host share of it.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "cgroup.h"
#include "core/unique_fd.h"
#include "doctor_finding.h"
#include "link/shm/inbox.h"
#include "link/shm/layout.h"
#include "observe/board_layout.h"

namespace trireme::tool {
namespace {

// As the ranks do it.
Finding check_shared_memory() {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    Finding finding{"shared memory", Verdict::ok, "memfd_create, sealing and mapping work"};
    const UniqueFd memory(::memfd_create("trireme-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const char* failed = nullptr;
    if (!memory) {
        failed = "memfd_create";
    } else if (::ftruncate(memory.get(), bytes) != 0) {
        failed = "ftruncate of a memfd";
    } else if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        failed = "sealing a memfd";
    } else if (const shm::Mapping mapping(memory.get(), 0, bytes, true); !mapping) {
        failed = "mapping a memfd";
    } else {
        std::memset(mapping.data(), 1, bytes);
    }
    if (failed != nullptr) {
        finding.verdict = Verdict::failure;
        finding.text = fmt::format("{} failed: {}", failed, std::strerror(errno));
        finding.remedy =
            "allow memfd_create, ftruncate and fcntl in the container's seccomp profile, and use "
            "Linux 3.17 or newer; TRIREME_TRANSPORT=tcp does without the inboxes, not without the "
            "flight recorder";
    }
    return finding;
}

double available_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string name; file >> name;) {
        double kibibytes = 0;
        file >> kibibytes;
        if (name == "MemAvailable:") {
            return kibibytes * 1024;
        }
        std::getline(file, name);
    }
    return 0;
}

// Every rank has a board, and an inbox with a region for each rank; pages that nobody writes to are
// not there yet.
Finding check_available(const Patient& patient) {
    const double needed =
        patient.ranks *
        (static_cast<double>(sizeof(board::Board)) +
         static_cast<double>(shm::region_offset(static_cast<std::size_t>(patient.world))));
    const double machine = available_memory();
    const auto in_group = left_in_cgroups("memory.max", "memory.current");
    Finding finding{
        "memory", Verdict::ok,
        fmt::format("{} available{}; {} ranks share {} at most among themselves",
                    bytes_text(machine),
                    in_group ? fmt::format(", {} in this cgroup", bytes_text(*in_group)) : "",
                    patient.ranks, bytes_text(needed))};
    if (std::min(machine, in_group.value_or(machine)) < 2 * needed) {
        finding.verdict = Verdict::warning;
        finding.remedy =
            "start fewer ranks here, or raise memory.max of the cgroup (docker run --memory): a "
            "rank that the kernel kills for memory ends with signal 9";
    }
    return finding;
}

Finding check_huge_pages() {
    const std::string setting = line_of_file("/sys/kernel/mm/transparent_hugepage/enabled");
    if (setting.find("[never]") == std::string::npos) {
        return {"huge pages", Verdict::ok,
                "transparent huge pages: " + (setting.empty() ? "not in this kernel" : setting)};
    }
    return {"huge pages", Verdict::warning,
            "transparent huge pages are off: large tensors cost more page faults",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

}  // namespace

Findings check_memory(const Patient& patient) {
    return {check_shared_memory(), check_available(patient), check_huge_pages()};
}

}  // namespace trireme::tool
