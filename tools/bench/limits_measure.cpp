#include "limits_measure.h"

#include <sys/mman.h>

#include <new>

namespace trireme::bench {
namespace {

constexpr std::chrono::duration<double> time_of_a_limit{0.25};
constexpr std::size_t least_rounds = 3;

}  // namespace

std::vector<int> allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    // Fails on machines with more cores than the set has room for: one core is measured then.
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) cores.push_back(core);
        }
    }
    if (cores.empty()) cores.push_back(std::max(0, ::sched_getcpu()));
    return cores;
}

Pinned::Pinned(int core) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

Pinned::~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

LargeBuffer::LargeBuffer(std::size_t bytes)
    : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      bytes_(bytes) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    ::madvise(data_, bytes, MADV_HUGEPAGE);
}

LargeBuffer::~LargeBuffer() { ::munmap(data_, bytes_); }

std::size_t large_bytes(double part) {
    constexpr double bytes = 64 << 20;
    constexpr std::size_t page = 4096;
    return std::max<std::size_t>(1, static_cast<std::size_t>(bytes * part) / page) * page;
}

void measure_rounds(Limit& limit, double part, const std::function<double()>& round) {
    (void)round();  // warms caches, pages and clocks up
    std::vector<double> values;
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    while (values.size() < least_rounds || Clock::now() - start < time_of_a_limit * part) {
        values.push_back(round());
    }
    std::ranges::sort(values);
    limit.best = limit.unit.ends_with("/s") ? values.back() : values.front();
    limit.median = values[values.size() / 2];
}

}  // namespace trireme::bench
