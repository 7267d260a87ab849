// What groups that were made, used and dropped leave behind: nothing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

/// What a process holds.
struct Holdings {
    std::ptrdiff_t descriptors;
    std::ptrdiff_t threads;
    std::int64_t resident_bytes;
    std::int64_t keys;
};

std::ptrdiff_t entries_of(const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory),
                         std::filesystem::directory_iterator());
}

Holdings holdings(Store& store) {
    std::int64_t pages = 0;
    std::int64_t resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
            resident * ::sysconf(_SC_PAGESIZE), store.num_keys()};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_measured = false;  // sanitizers keep what was freed
constexpr int most_rounds = 150;
#else
constexpr bool memory_is_measured = true;
constexpr int most_rounds = 1000;
#endif

/// Runs `use` on 2 ranks 100 times to warm up and 1,000 times after that (fewer under a sanitizer).
void expect_no_leak(Transport transport, void (*use)(const World&)) {
    Holdings before{};
    Holdings after{};
    run_ranks(
        2,
        [&](World& world) {
            const auto rounds = [&](int count) {
                for (int round = 0; round < count; ++round) use(world);
            };
            // The other rank waits meanwhile.
            const auto look = [&](Holdings& into) {
                world.group().barrier();
                if (world.rank() == 0) into = holdings(world.store());
                world.group().barrier();
            };
            rounds(100);
            look(before);
            rounds(most_rounds);
            look(after);
        },
        test_options(transport));

    EXPECT_NEAR(static_cast<double>(after.descriptors), static_cast<double>(before.descriptors), 5);
    EXPECT_LE(after.threads, before.threads);
    EXPECT_EQ(after.keys, before.keys);
    if (memory_is_measured) {
        EXPECT_LT(after.resident_bytes - before.resident_bytes, 10 << 20);
    }
}

void use(const Group& group) {
    std::vector<int> data(10'000, group.rank() + 1);
    group.all_reduce(data);
    EXPECT_EQ(data.front(), 3);
    EXPECT_EQ(data.back(), 3);
    group.all_reduce_async(data, max).wait();
    int token = group.rank();
    Work receive = group.recv_async(token, Peer{1 - group.rank()});
    const int sent = group.rank() + 10;
    group.send(sent, Peer{1 - group.rank()});
    receive.wait();
    EXPECT_EQ(token, 11 - group.rank());
}

void make_use_and_drop(const World& world) { use(world.group({0, 1})); }

// The one rank drops its handle while the other one's message, which nobody asks for, is on its way
// or there.
void only_drop(const World& world) {
    {
        const Group group = world.group({0, 1}, GroupOptions("dropped"));
        const std::vector<int> data(100, 1);
        if (world.rank() == 0) group.send(data, Peer{1});
    }
    world.group().barrier();
}

void split_and_drop(const World& world) {
    use(world.group().split(0));
    const Group alone = world.group().split(world.rank());
    alone.barrier();
    const Group pair = world.group().subgroup({1, 0});
    pair.barrier();
}

TEST(Cases, C47_GroupsThatAreMadeUsedAndDropped) {
    for (const Transport transport : {Transport::shm, Transport::tcp})
        expect_no_leak(transport, make_use_and_drop);
}

TEST(Cases, C47_HandlesThatAreOnlyDropped) {
    for (const Transport transport : {Transport::shm, Transport::tcp})
        expect_no_leak(transport, only_drop);
}

TEST(Cases, C47_GroupsOutOfGroups) { expect_no_leak(Transport::automatic, split_and_drop); }

}  // namespace
}  // namespace trireme
