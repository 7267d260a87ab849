// Worlds: one after the other, several at once.

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
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

// Ranks that choose different algorithms would wait for one another.
TEST(Worlds, SettingsThatDifferAreRefused) {
    const auto store = memory_store();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
        threads.emplace_back([&, rank] {
            WorldOptions options = test_options();
            if (rank == 1) options.algorithm = "all_reduce:ring,broadcast:binomial";
            test::expect_error(ErrorCode::rendezvous,
                               {"rank 1 has TRIREME_ALGORITHM=\"all_reduce:ring,broadcast",
                                "the same on all ranks"},
                               [&] { static_cast<void>(World::create(store, rank, 3, options)); });
        });
    for (std::thread& thread : threads) thread.join();
}

// The last handle may go wherever the callback of a started operation runs: on the thread of the
// process that drives them, too.
TEST(Worlds, MayEndInACallback) {
    for (int round = 0; round < 5; ++round) {
        const auto store = memory_store();
        std::vector<std::thread> threads;
        for (int rank = 0; rank < 2; ++rank)
            threads.emplace_back([&, rank] {
                std::promise<void> ended;
                {
                    auto world = std::make_shared<std::optional<World>>(
                        World::create(store, rank, 2, test_options()));
                    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    (*world)->group().barrier_async().then(
                        [world, &ended](const std::exception_ptr&) {
                            world->reset();
                            ended.set_value();
                        });
                }
                ended.get_future().wait();
            });
        for (std::thread& thread : threads) thread.join();
    }
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
