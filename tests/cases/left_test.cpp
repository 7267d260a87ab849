// What ranks leave behind that come and go, or are killed: nothing.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::Processes;

std::size_t shared_segments() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/dev/shm"), {}));
}

// A world and a group of some of its ranks, at one address: again and again.
void come_and_go(int ranks) {
    std::string url;
    {
        const TcpStoreServer server;  // a port that was free a moment ago
        url = "tcp://127.0.0.1:" + std::to_string(server.port());
    }
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            for (int round = 0; round < 20; ++round) {
                const World world = World::connect(url, rank, ranks, test_options());
                const Group group = world.group({0});
                if (rank == 0) group.barrier();
                int sum = 1;
                world.group().all_reduce(sum);
                EXPECT_EQ(sum, ranks);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST(Cases, C38_TwentyWorldsAtOneAddress) {
    come_and_go(1);
    come_and_go(2);
}

TEST(Cases, C44_RanksThatAreKilledInAnOperation) {
    const std::size_t before = shared_segments();
    for (int round = 0; round < 20; ++round) {
        const test::TempDir folder;
        Processes ranks(3, [&](int rank) {
            const World world =
                World::create(file_store(folder / "store"), rank, 3, test_options());
            std::vector<float> data(300'000, 1);
            for (int i = 0;; ++i) {
                world.group().all_reduce(data, max);
                if (i == 3 && rank == 0) std::ofstream(folder / "busy").put('\n');
            }
            return 0;
        });
        while (!std::filesystem::exists(folder / "busy")) std::this_thread::sleep_for(1ms);
        for (int rank = 0; rank < 3; ++rank) ranks.signal(rank, SIGKILL);
        for (int rank = 0; rank < 3; ++rank) EXPECT_NE(ranks.wait(rank), 0);
        ASSERT_LE(shared_segments(), before);  // other processes may end meanwhile
    }
}

}  // namespace
}  // namespace trireme
