// What the measurements of limits share. See limits.h.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace trireme::bench {

struct Limit {
    std::string name;   ///< in JSON
    std::string about;  ///< for people
    std::string unit;
    double best = 0;
    double median = 0;
    std::string error{};             ///< why there is no figure
    std::size_t copied_by_each = 0;  ///< of a copy by all cores: bytes of a core's buffer
};

/// The cores that this process may use.
[[nodiscard]] std::vector<int> allowed_cores();

/// Keeps the calling thread on one core, until it is destroyed.
class Pinned {
public:
    explicit Pinned(int core);
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
    ~Pinned();

private:
    cpu_set_t before_{};
};

/// Memory in huge pages, where the kernel grants them. Whoever writes to it first has it near.
class LargeBuffer {
public:
    /// Throws `std::bad_alloc`.
    explicit LargeBuffer(std::size_t bytes);
    LargeBuffer(const LargeBuffer&) = delete;
    LargeBuffer& operator=(const LargeBuffer&) = delete;
    ~LargeBuffer();

    [[nodiscard]] void* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    void* data_;
    std::size_t bytes_;
};

/// Waits without sleeping. It yields now and then, for the machine may have a single core.
template <class Condition>
void poll_until(Condition&& condition) {
    constexpr int polls_between_yields = 4096;
    for (int polls = 1; !condition(); ++polls) {
        if (polls % polls_between_yields == 0) ::sched_yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

/// Nanoseconds that `work` takes.
template <class Work>
double nanoseconds_of(Work&& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
        .count();
}

/// Fills in best and median from what `round` returns, for `part` of a quarter of a second, three
/// times at least. Rates are best when high, times when low.
void measure_rounds(Limit& limit, double part, const std::function<double()>& round);

/// What large buffers have: 64 MiB, or `part` of them in whole pages.
[[nodiscard]] std::size_t large_bytes(double part);

// See `measure_limits` for `part`.
[[nodiscard]] std::vector<Limit> measure_memory(double part);
/// Cache lines, changes of process, wake-ups.
[[nodiscard]] std::vector<Limit> measure_cores(double part);
[[nodiscard]] std::vector<Limit> measure_process_memory(double part);
[[nodiscard]] std::vector<Limit> measure_loopback(double part);

}  // namespace trireme::bench
