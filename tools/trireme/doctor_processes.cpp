// What ranks of one host do with one another's processes.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/membarrier.h"
#include "core/unique_fd.h"
#include "doctor_finding.h"
#include "failure.h"
#include "group/bootstrap_context.h"
#include "group/bootstrap_socket.h"
#include "trireme/error.h"

namespace trireme::tool {
namespace {

constexpr std::uint64_t told = 0x7472'6972'656d'65;

// A process that lets its peers read its memory, as a rank does, and waits for its end.
class Neighbour {
public:
    Neighbour() {
        std::array<int, 2> ready{};
        if (::pipe2(ready.data(), O_CLOEXEC) != 0) {
            throw system_failure("pipe");
        }
        const UniqueFd reading(ready[0]);
        UniqueFd writing(ready[1]);
        pid_ = ::fork();
        if (pid_ < 0) {
            throw system_failure("fork");
        }
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef PR_SET_PTRACER
            ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
            if (::write(writing.get(), "r", 1) != 1) {
                ::_exit(1);
            }
            for (;;) {
                ::pause();
            }
        }
        writing.reset();
        char letter = 0;
        while (::read(reading.get(), &letter, 1) < 0 && errno == EINTR) {
        }
    }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;
    ~Neighbour() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] pid_t pid() const { return pid_; }

private:
    pid_t pid_ = -1;
};

// Whether a sibling of `target` can read and write its memory: 0, or the errno. Ranks are siblings,
// and the Yama module gives a parent more than them.
int try_memory_of(pid_t target) {
    static std::uint64_t word = told;  // at the same address in all three processes
    const pid_t reader = ::fork();
    if (reader < 0) {
        throw system_failure("fork");
    }
    if (reader == 0) {
        std::uint64_t seen = 0;
        const iovec here{&seen, sizeof seen};
        const iovec there{&word, sizeof word};
        if (::process_vm_readv(target, &here, 1, &there, 1, 0) != sizeof seen ||
            ::process_vm_writev(target, &here, 1, &there, 1, 0) != sizeof seen) {
            ::_exit(errno);
        }
        ::_exit(seen == told ? 0 : EIO);
    }
    int status = 0;
    while (::waitpid(reader, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

bool filters_system_calls() {
    std::ifstream file("/proc/self/status");
    for (std::string name; file >> name;) {
        int mode = 0;
        if (name == "Seccomp:" && file >> mode) {
            return mode != 0;
        }
    }
    return false;
}

Finding check_peer_memory(pid_t neighbour) {
    const int error = try_memory_of(neighbour);
    if (error == 0) {
        return {"peers' memory", Verdict::ok,
                "a process can read and write another one's memory (process_vm_readv, _writev)"};
    }
    const std::string scope = line_of_file("/proc/sys/kernel/yama/ptrace_scope");
    Finding finding{"peers' memory", Verdict::warning,
                    fmt::format("process_vm_readv fails: {}; large messages take another copy",
                                std::strerror(error))};
    if (scope == "2" || scope == "3") {
        finding.text += fmt::format(" (kernel.yama.ptrace_scope is {})", scope);
        finding.remedy = "sysctl kernel.yama.ptrace_scope=1";
        if (scope == "3") {
            finding.remedy += ", which takes a reboot to be allowed";
        }
    } else if (filters_system_calls()) {
        finding.text += " (a seccomp filter is on)";
        finding.remedy =
            "docker run --cap-add SYS_PTRACE, or a seccomp profile that allows process_vm_readv "
            "and process_vm_writev";
    } else {
        finding.remedy = "start all ranks of a host as the same user, in the same user namespace";
    }
    return finding;
}

Finding check_process_descriptors(pid_t neighbour) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, neighbour, 0U)));
    if (process) {
        return {"pidfd_open", Verdict::ok, "a rank's death is seen by its process descriptor"};
    }
    return {
        "pidfd_open", Verdict::warning,
        fmt::format("fails: {}; a rank's death is seen by its socket only", std::strerror(errno)),
        "Linux 5.3 or newer; in a container allow pidfd_open in the seccomp profile"};
}

Finding check_membarrier() {
    if (register_for_membarrier()) {
        return {"membarrier", Verdict::ok, "a waiting rank sleeps, and is woken"};
    }
    return {"membarrier", Verdict::warning,
            "not permitted: a waiting rank looks every millisecond instead of sleeping",
            "Linux 4.16 or newer; in a container allow membarrier in the seccomp profile"};
}

Finding check_unix_sockets() {
    try {
        const std::string name = bootstrap::random_name();
        const UniqueFd listener = bootstrap::listen_unix(name, 1);
        const UniqueFd client = bootstrap::connect_unix(name);
        if (client) {
            return {"Unix sockets", Verdict::ok,
                    "abstract names work, by which ranks of a host meet"};
        }
        throw system_failure("connect");
    } catch (const std::exception& error) {
        return {"Unix sockets", Verdict::warning,
                fmt::format("abstract names do not work, ranks of this host will use TCP: {}",
                            error.what()),
                "allow Unix sockets in the sandbox or seccomp profile"};
    }
}

}  // namespace

Findings check_processes() {
    const Neighbour neighbour;
    return {check_peer_memory(neighbour.pid()), check_process_descriptors(neighbour.pid()),
            check_membarrier(), check_unix_sockets()};
}

}  // namespace trireme::tool
