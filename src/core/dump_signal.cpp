#include "core/dump_signal.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace trireme {

namespace {

std::atomic<int> bell{-1};
// A forked child shares the eventfd with its parent until it makes one of its own.
std::atomic<int> bell_owner{0};
static_assert(std::atomic<int>::is_always_lock_free);

void ring_bell(int /*signal*/) {
    if (bell_owner.load() != ::getpid()) return;
    const int error = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(bell.load(), &one, sizeof(one));
    errno = error;
}

}  // namespace

int dump_signal_descriptor() noexcept {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    struct sigaction present{};
    if (::sigaction(dump_signal, nullptr, &present) != 0) return -1;
    const bool installed = present.sa_handler == ring_bell;
    if (!installed && ((present.sa_flags & SA_SIGINFO) != 0 || present.sa_handler != SIG_DFL))
        return -1;
    if (bell_owner.load() != ::getpid()) {
        const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (made < 0) return -1;
        if (bell.load() < 0) {
            bell.store(made);
        } else {
            ::dup3(made, bell.load(), O_CLOEXEC);  // the parent's; the number stays
            ::close(made);
        }
        bell_owner.store(::getpid());
    }
    if (!installed) {
        struct sigaction action{};
        action.sa_handler = ring_bell;
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        if (::sigaction(dump_signal, &action, nullptr) != 0) return -1;
    }
    return bell.load();
}

}  // namespace trireme
