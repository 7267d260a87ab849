#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "limits_measure.h"

namespace trireme::bench {
namespace {

// A child process, which sleeps, and has what its parent's memory held when it was made.
class SleepingPeer {
public:
    SleepingPeer() {
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (::getppid() == parent) ::pause();
            ::_exit(0);
        }
    }
    SleepingPeer(const SleepingPeer&) = delete;
    SleepingPeer& operator=(const SleepingPeer&) = delete;
    ~SleepingPeer() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    /// Whether that many bytes at this address of the peer could be read.
    [[nodiscard]] bool read(void* to, void* address, std::size_t bytes) const {
        const iovec local{to, bytes};
        const iovec remote{address, bytes};
        return pid_ > 0 &&
               ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
    }

private:
    pid_t pid_ = -1;
};

}  // namespace

std::vector<Limit> measure_process_memory(double part) {
    const std::size_t most = large_bytes(part);
    const Pinned pinned(allowed_cores().front());
    const LargeBuffer theirs(most);
    const LargeBuffer ours(most);
    std::memset(theirs.data(), 1, most);
    const SleepingPeer peer;

    std::vector<Limit> limits{
        {.name = "process_vm_readv_8_b", .about = "process_vm_readv of 8 B", .unit = "µs"},
        {.name = "process_vm_readv_1_mib", .about = "process_vm_readv of 1 MiB", .unit = "GB/s"},
        {.name = "process_vm_readv_64_mib", .about = "process_vm_readv of 64 MiB", .unit = "GB/s"}};
    const std::array<std::size_t, 3> sizes{8, std::min(most, std::size_t{1} << 20), most};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t bytes = sizes.at(i);
        if (!peer.read(ours.data(), theirs.data(), bytes)) {
            limits[i].error = std::strerror(errno);
            continue;
        }
        measure_rounds(limits[i], part, [&, bytes] {
            const int calls = bytes == most ? 1 : 100;
            const double nanoseconds = nanoseconds_of([&] {
                for (int call = 0; call < calls; ++call) {
                    (void)peer.read(ours.data(), theirs.data(), bytes);
                }
            });
            return bytes == 8 ? nanoseconds / calls / 1e3
                              : static_cast<double>(bytes) * calls / nanoseconds;
        });
    }
    return limits;
}

}  // namespace trireme::bench
