#include <barrier>
#include <cstdint>
#include <cstring>
#include <deque>
#include <thread>

#include <fmt/format.h>

#include "figure_text.h"
#include "limits_measure.h"

namespace trireme::bench {
namespace {

constexpr std::size_t cached_copy = std::size_t{128} << 10;  // two of these fit into most L2 caches
constexpr std::size_t most_memory = std::size_t{1} << 30;    // for one buffer on all cores together

using Pass = void (*)(const LargeBuffer& to, const LargeBuffer& from);

void copy_pass(const LargeBuffer& to, const LargeBuffer& from) {
    std::memcpy(to.data(), from.data(), to.bytes());
    asm volatile("" : : "r"(to.data()) : "memory");  // the result counts as used
}

void add_pass(const LargeBuffer& to, const LargeBuffer& from) {
    auto* sum = static_cast<float*>(to.data());
    const auto* more = static_cast<const float*>(from.data());
    for (std::size_t i = 0; i < to.bytes() / sizeof(float); ++i) sum[i] += more[i];
    asm volatile("" : : "r"(to.data()) : "memory");
}

void read_pass(const LargeBuffer& to, const LargeBuffer&) {
    const auto* words = static_cast<const std::uint64_t*>(to.data());
    // Several sums, so that no addition waits for the one before.
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i < to.bytes() / sizeof(std::uint64_t); i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += words[i + lane];
    }
    asm volatile("" : : "r"(sums) : "memory");
}

// The passes of several cores at a time, each over buffers of its own.
Limit measure_pass(Limit limit, Pass pass, std::size_t bytes, const std::vector<int>& cores,
                   double part) {
    using Clock = std::chrono::steady_clock;
    struct Span {
        Clock::time_point start;
        Clock::time_point end;
    };
    // A round takes some milliseconds, beside which the start of its threads does not count.
    const std::size_t repeats = std::max<std::size_t>(1, 2 * large_bytes(part) / bytes);
    std::deque<LargeBuffer> buffers;
    for (std::size_t i = 0; i < 2 * cores.size(); ++i) buffers.emplace_back(bytes);
    std::vector<Span> spans(cores.size());
    std::barrier meeting(static_cast<std::ptrdiff_t>(cores.size()) + 1);
    bool stop = false;  // written before a meeting, read after it
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < cores.size(); ++i) {
        threads.emplace_back([&, i] {
            const Pinned pinned(cores[i]);
            const LargeBuffer& to = buffers[2 * i];
            const LargeBuffer& from = buffers[2 * i + 1];
            std::memset(to.data(), 0, bytes);
            std::memset(from.data(), 0, bytes);
            while (true) {
                meeting.arrive_and_wait();
                if (stop) return;
                spans[i].start = Clock::now();
                for (std::size_t k = 0; k < repeats; ++k) pass(to, from);
                spans[i].end = Clock::now();
                meeting.arrive_and_wait();
            }
        });
    }
    measure_rounds(limit, part, [&] {
        meeting.arrive_and_wait();
        meeting.arrive_and_wait();
        const auto start = std::ranges::min(spans, {}, &Span::start).start;
        const auto end = std::ranges::max(spans, {}, &Span::end).end;
        const double nanoseconds = std::chrono::duration<double, std::nano>(end - start).count();
        return static_cast<double>(bytes * repeats * cores.size()) / nanoseconds;
    });
    stop = true;
    meeting.arrive_and_wait();
    for (std::thread& thread : threads) thread.join();
    return limit;
}

}  // namespace

std::vector<Limit> measure_memory(double part) {
    const std::vector<int> all = allowed_cores();
    const std::vector<int> one{all.front()};
    const std::size_t most_of_each = std::max(cached_copy, most_memory / all.size());
    std::vector<Limit> limits;
    const auto measure = [&](const std::string& name, const std::string& text, Pass pass,
                             std::size_t bytes, const std::vector<int>& cores) {
        Limit limit;
        limit.name = name;
        limit.about = fmt::format("{} of {}, {}", text, bytes_text(bytes),
                                  &cores == &one ? "1 core" : "all cores");
        limit.unit = "GB/s";
        limit.copied_by_each = pass == copy_pass && &cores == &all ? bytes : 0;
        limits.push_back(measure_pass(limit, pass, bytes, cores, part));
    };
    const std::size_t large_copy = large_bytes(part);
    const std::size_t large_of_each = std::min(large_copy, most_of_each);
    measure("copy_1_core", "copy", copy_pass, large_copy, one);
    measure("copy_all_cores", "copy", copy_pass, large_of_each, all);
    measure("add_1_core", "a += b", add_pass, large_copy, one);
    measure("add_all_cores", "a += b", add_pass, large_of_each, all);
    measure("read_1_core", "read", read_pass, large_copy, one);
    measure("read_all_cores", "read", read_pass, large_of_each, all);
    measure("l2_copy_1_core", "copy in L2", copy_pass, cached_copy, one);
    measure("l2_copy_all_cores", "copy in L2", copy_pass, cached_copy, all);
    for (const std::size_t mebibytes : {1, 4, 16}) {
        const std::size_t bytes = mebibytes << 20;
        measure(fmt::format("copy_{}_mib_all_cores", mebibytes), "copy", copy_pass,
                std::min(bytes, most_of_each), all);
    }
    return limits;
}

}  // namespace trireme::bench
