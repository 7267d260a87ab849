// Worlds: one after the other, several at once.

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;

void on_threads(int size, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&body, rank] {
            try {
                body(rank);
            } catch (const std::exception& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

void use(const World& world) {
    int value = world.rank() + 1;
    world.group().all_reduce(value);
    EXPECT_EQ(value, world.size() * (world.size() + 1) / 2);
}

TEST(Worlds, TwentyInOneStore) {
    const auto store = memory_store();
    on_threads(3, [&](int rank) {
        for (int i = 0; i < 20; ++i) use(World::create(store, rank, 3, test_options()));
    });
}

TEST(Worlds, TwentyAtOneAddress) {
    std::string url;
    {
        const TcpStoreServer server;  // a port that was free a moment ago
        url = "tcp://127.0.0.1:" + std::to_string(server.port());
    }
    on_threads(3, [&](int rank) {
        for (int i = 0; i < 20; ++i) use(World::connect(url, rank, 3, test_options()));
    });
}

TEST(Worlds, SeveralInOneProcess) {
    const auto store = memory_store();
    on_threads(4, [&](int rank) {
        const World all = World::create(prefix_store("all", store), rank, 4, test_options());
        const World half = World::create(prefix_store(rank < 2 ? "low" : "high", store), rank % 2,
                                         2, test_options(Transport::tcp));
        const World alone =
            World::create(prefix_store(std::to_string(rank), store), 0, 1, test_options());
        for (int i = 0; i < 20; ++i) {
            std::vector<int> data(1000, 1);
            auto work = half.group().all_reduce_async(data);
            use(all);
            use(alone);
            work.wait();
            EXPECT_EQ(data[999], 2);
        }
        EXPECT_EQ(half.transport(1 - rank % 2), "tcp");
        EXPECT_EQ(all.transport(rank), "self");
    });
}

TEST(Worlds, CopiesAreTheSameWorld) {
    run_ranks(2, [](World& world) {
        auto copy = std::make_unique<World>(world);
        use(*copy);
        copy.reset();
        use(world);
    });
}

TEST(Worlds, WrongRanksAreRefused) {
    for (const auto& [rank, size] : {std::pair{0, 0}, {2, 2}, {-1, 2}}) {
        try {
            static_cast<void>(World::create(memory_store(), rank, size, test_options()));
            ADD_FAILURE() << rank << " of " << size;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        }
    }
}

}  // namespace
}  // namespace trireme
