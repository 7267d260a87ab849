#include "core/fork.h"

#include <pthread.h>

#include <atomic>

namespace trireme {

namespace {

std::atomic<int> generation{0};

void in_child() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

int fork_generation() noexcept {
    // A system call per question would cost more than a small operation; the handler costs a fork.
    static const int registered = ::pthread_atfork(nullptr, nullptr, in_child);
    static_cast<void>(registered);
    return generation.load(std::memory_order_relaxed);
}

}  // namespace trireme
