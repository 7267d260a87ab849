// A new world of those that still live.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::Processes;

// The sum of 2^rank of the world before tells who is there.
int members(const Group& group, int old_rank) {
    int value = 1 << old_rank;
    group.all_reduce(value);
    return value;
}

TEST(Shrink, LeavesOutWhoHasLeft) {
    run_ranks(4, [](World& world) {
        const int rank = world.rank();
        const Group pair = world.group().subgroup(rank < 2 ? std::vector{0, 1} : std::vector{2, 3});
        if (rank == 2) return;
        const World smaller = world.shrink();
        EXPECT_EQ(smaller.size(), 3);
        EXPECT_EQ(smaller.rank(), rank == 3 ? 2 : rank);
        EXPECT_EQ(members(smaller.group(), rank), 0b1011);
        // The world before goes on for those that live.
        if (rank < 2) {
            EXPECT_EQ(members(pair, rank), 0b0011);
        }
        // ... and so does the new one, when it shrinks in turn.
        if (rank == 0) return;
        EXPECT_EQ(members(smaller.shrink().group(), rank), 0b1010);
    });
}

TEST(Shrink, OfNobodyLostIsTheSameWorldAgain) {
    run_ranks(3, [](World& world) {
        for (int round = 0; round < 3; ++round) {
            const World same = world.shrink();
            EXPECT_EQ(same.rank(), world.rank());
            EXPECT_EQ(members(same.group(), world.rank()), 0b111);
        }
    });
}

TEST(Shrink, ExcludesWhoComesTooLate) {
    run_ranks(3, [](World& world) {
        if (world.rank() != 1) {
            const World smaller = world.shrink(500ms);
            EXPECT_EQ(members(smaller.group(), world.rank()), 0b101);
            world.store().set("done", "1");
            return;
        }
        static_cast<void>(world.store().get("done", 30s));
        test::expect_error(ErrorCode::aborted,
                           {"rank 1 is excluded", "ranks 0, 2 have agreed to go on without it"},
                           [&] { static_cast<void>(world.shrink(500ms)); });
        // For good: it must not find a world of its own.
        test::expect_error(ErrorCode::aborted, {"rank 1 is excluded"},
                           [&] { static_cast<void>(world.shrink(500ms)); });
    });
}

TEST(Shrink, NeedsAStoreOutsideTheRanks) {
    const World world = World::connect("tcp://127.0.0.1:29417", 0, 1, test_options());
    test::expect_error(ErrorCode::unsupported, {"rank 0 holds the store", "trireme run"},
                       [&] { static_cast<void>(world.shrink()); });
}

// Shrinks again and again until only two are left. 0, or what went wrong.
int outlive(World world, int rank, int total) {
    for (int size = total; size > 2; --size) {
        if (world.size() != size) return 1;
        // What a killed process has sent may be lost: the others have all of it by then.
        world.store().set(std::to_string(rank), "");
        if (rank == size - 1) {
            for (int other = 0; other < rank; ++other)
                static_cast<void>(world.store().get(std::to_string(other), 60s));
            std::raise(SIGKILL);
        }
        try {
            for (;;) world.group().barrier();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::peer_lost) {
                std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
                return 2;
            }
        }
        world = world.shrink();
        if (members(world.group(), rank) != (1 << (size - 1)) - 1) return 3;
    }
    return 0;
}

class ShrinkOver : public testing::TestWithParam<Transport> {};

TEST_P(ShrinkOver, GoesOnAfterOneDeathAfterAnother) {
    const test::TempDir folder;
    Processes ranks(6, [&](int rank) {
        return outlive(
            World::create(file_store(folder / "store"), rank, 6, test_options(GetParam())), rank,
            6);
    });
    for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(ranks.wait(rank), rank < 2 ? 0 : -SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Each, ShrinkOver, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& one) {
                             return std::string(one.param == Transport::shm ? "shm" : "tcp");
                         });

// Kills this process when it has set a key that contains `fatal`.
class DeadlyStore final : public Store {
public:
    DeadlyStore(std::shared_ptr<Store> store, std::string fatal)
        : store_(std::move(store)), fatal_(std::move(fatal)) {}

    void set(std::string_view key, std::string_view value) override {
        store_->set(key, value);
        die_of(key);
    }
    std::string get(std::string_view key, Timeout timeout) override {
        return store_->get(key, timeout);
    }
    void wait(std::span<const std::string> keys, Timeout timeout) override {
        store_->wait(keys, timeout);
    }
    std::int64_t add(std::string_view key, std::int64_t amount) override {
        const auto sum = store_->add(key, amount);
        die_of(key);
        return sum;
    }
    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        auto value = store_->compare_set(key, expected, desired);
        die_of(key);
        return value;
    }
    bool delete_key(std::string_view key) override { return store_->delete_key(key); }
    bool check(std::span<const std::string> keys) override { return store_->check(keys); }
    std::int64_t num_keys() override { return store_->num_keys(); }
    std::string describe() const override { return store_->describe(); }

private:
    void die_of(std::string_view key) const {
        if (!fatal_.empty() && key.find(fatal_) != key.npos) std::raise(SIGKILL);
    }

    std::shared_ptr<Store> store_;
    std::string fatal_;
};

// Rank 3 is dead, and rank 2 dies while the others agree, at each point at which others may see
// it or not.
class ShrinkMeanwhile : public testing::TestWithParam<const char*> {};

TEST_P(ShrinkMeanwhile, ADeathStartsOver) {
    const test::TempDir folder;
    Processes ranks(4, [&](int rank) {
        const auto store = std::make_shared<DeadlyStore>(file_store(folder / "store"),
                                                         rank == 2 ? GetParam() : "");
        const World world = World::create(store, rank, 4, test_options());
        world.store().set(fmt::format("ready/{}", rank), "");
        const std::string others[] = {"ready/0", "ready/1", "ready/2"};
        world.store().wait(others, 60s);
        if (rank == 3) std::raise(SIGKILL);
        // It may have joined and died then.
        for (World smaller = world.shrink();; smaller = smaller.shrink()) {
            try {
                return members(smaller.group(), rank) == 0b0011 ? 0 : 1;
            } catch (const Error& error) {
                if (error.code() != ErrorCode::peer_lost) throw;
            }
        }
    });
    for (const int rank : {0, 1}) EXPECT_EQ(ranks.wait(rank), 0) << rank;
    for (const int rank : {2, 3}) EXPECT_EQ(ranks.wait(rank), -SIGKILL) << rank;
}

INSTANTIATE_TEST_SUITE_P(At, ShrinkMeanwhile,
                         testing::Values("shrink/1/here", "shrink/1/world/rank",
                                         "shrink/1/world/reach", "shrink/1/joined"),
                         [](const auto& one) {
                             std::string name = one.param;
                             for (char& letter : name)
                                 if (letter == '/') letter = '_';
                             return name;
                         });

}  // namespace
}  // namespace trireme
