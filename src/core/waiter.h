#pragma once

#include <chrono>
#include <cstdint>

namespace trireme {

/// How a thread idles between two looks at what it waits for: spin, then yield, then sleep.
///
/// It times its own `sched_yield`. Short (nobody shares the core): spinning is best, the answer is
/// a cache line's flight away. Middling (the peers themselves share the core): yield at once, every
/// spin only keeps the peer from working. Long (a stranger computes there): spin first, since a
/// yield costs a whole time slice. What it learned carries over to the thread's next wait.
class Waiter {
public:
    enum class Step {
        look,   ///< look again
        sleep,  ///< patience is over: sleep until woken
    };

    /// `crowded`: more ranks than processors wait here, so that a core always has other work. Their
    /// turns make a yield long, which else would look like a stranger's.
    explicit Waiter(bool crowded = false) noexcept : crowded_(crowded) {}

    /// Idles once.
    Step idle() noexcept;

    /// Something moved: start over.
    void reset() noexcept;

    /// When it last looked at the clock by itself: after a yield; else the clock's beginning.
    [[nodiscard]] std::chrono::steady_clock::time_point last_yield() const noexcept {
        return last_yield_;
    }

private:
    using Clock = std::chrono::steady_clock;

    void timed_yield() noexcept;

    bool crowded_;
    std::uint32_t looks_ = 0;
    Clock::time_point since_{};
    Clock::time_point last_yield_{};
};

/// Tells the processor that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace trireme
