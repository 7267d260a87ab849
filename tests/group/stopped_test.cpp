// Ranks that are processes, one of which is stopped by a signal: silent, but not dead.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;

constexpr int stopped_rank = 1;

// 0, or what went wrong.
int wait_for_it(const World& world) {
    int x = 0;
    try {
        world.group().with(1s).all_reduce(x);
        return 1;
    } catch (const Error& error) {
        const std::string text = error.what();
        if (error.code() == ErrorCode::timeout && error.ranks() == std::vector{stopped_rank} &&
            text.find("rank 1 is stopped by a signal (process ") != std::string::npos &&
            text.find("and is in user code for ") != std::string::npos)
            return 0;
        std::fprintf(stderr, "rank %d: %s: %s\n", world.rank(), name(error.code()), error.what());
        return 2;
    }
}

TEST(Stopped, IsSaidByAllThatWaitForIt) {
    const test::TempDir folder;
    test::Processes ranks(3, [&](int rank) {
        const World world = World::create(file_store(folder / "store"), rank, 3, test_options());
        world.group().barrier();
        if (rank == stopped_rank) std::raise(SIGSTOP);
        return wait_for_it(world);
    });
    for (const int rank : {0, 2}) EXPECT_EQ(ranks.wait(rank), 0) << rank;
}

TEST(Stopped, IsNotAllThatAMonitoredBarrierNames) {
    const test::TempDir folder;
    test::Processes ranks(4, [&](int rank) {
        const World world = World::create(file_store(folder / "store"), rank, 4, test_options());
        world.group().barrier();
        if (rank == stopped_rank) std::raise(SIGSTOP);
        if (rank == 2) {
            static_cast<void>(world.store().get("seen", 60s));
            return 0;
        }
        try {
            world.group().monitored_barrier(1s);
            return 1;
        } catch (const Error& error) {
            if (rank == 0) world.store().set("seen", "");
            if (error.ranks() == std::vector{stopped_rank, 2}) return 0;
            std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
            return 2;
        }
    });
    for (const int rank : {0, 2, 3}) EXPECT_EQ(ranks.wait(rank), 0) << rank;
}

}  // namespace
}  // namespace trireme
