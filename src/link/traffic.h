#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trireme {

/// How many bytes of payload went to a peer and came from it. Written under the engine's mutex,
/// read by anybody at any time, also by other processes: it may lie in shared memory.
struct Traffic {
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> received{0};

    // With one writer at a time, loading and storing is enough, and costs no locked instruction.
    void count_sent(std::size_t bytes) noexcept {
        sent.store(sent.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }
    void count_received(std::size_t bytes) noexcept {
        received.store(received.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    }
};

}  // namespace trireme
