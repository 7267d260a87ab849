// Groups made out of groups, and their settings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::expect_invalid;
using testing::ElementsAre;

int sum_over(const Group& group, int value) {
    group.all_reduce(value);
    return value;
}

TEST(Subgroups, SplitByColorAndKey) {
    run_ranks(7, [](World& world) {
        const int rank = world.rank();
        // Colors 0, 1, 2; keys turn the order round; rank 6 wants none.
        const Group own = world.group().split(rank == 6 ? -1 : rank % 3, -rank, "third");
        if (rank == 6) {
            EXPECT_FALSE(own.is_member());
            return;
        }
        EXPECT_THAT(own.ranks(), ElementsAre(rank % 3 + 3, rank % 3));
        EXPECT_EQ(own.rank(), rank < 3 ? 1 : 0);
        EXPECT_EQ(own.name(), "third");
        EXPECT_EQ(sum_over(own, rank), 2 * (rank % 3) + 3);
        // Equal keys: by rank.
        EXPECT_THAT(own.split(0).ranks(), ElementsAre(rank % 3 + 3, rank % 3));
    });
}

TEST(Subgroups, OfSubgroups) {
    run_ranks(8, [](World& world) {
        const int rank = world.rank();
        const Group half = world.group().blocks_of(4);
        EXPECT_EQ(half.ranks().front(), rank / 4 * 4);
        EXPECT_EQ(half.rank(), rank % 4);
        const Group pair = half.blocks_of(2);
        EXPECT_THAT(pair.ranks(), ElementsAre(rank / 2 * 2, rank / 2 * 2 + 1));
        EXPECT_EQ(sum_over(pair, rank), rank / 2 * 4 + 1);
        if (half.rank() % 2 == 0) {
            const Group evens = half.subgroup({2, 0});
            EXPECT_THAT(evens.ranks(), ElementsAre(rank / 4 * 4 + 2, rank / 4 * 4));
            EXPECT_EQ(sum_over(evens, rank), rank / 4 * 8 + 2);
        }
        EXPECT_FALSE(half.subgroup({(half.rank() + 1) % 4}).is_member());
        EXPECT_EQ(half.rank_of(rank), half.rank());
        EXPECT_EQ(half.rank_of((rank + 4) % 8), -1);
        EXPECT_EQ(half.world_rank_of(3), rank / 4 * 4 + 3);
        expect_invalid([&] { static_cast<void>(half.world_rank_of(4)); }, {"4", "4 ranks"});
        expect_invalid([&] { static_cast<void>(half.subgroup({0, 7})); }, {"7", "4 ranks"});
        expect_invalid([&] { static_cast<void>(half.blocks_of(3)); }, {"blocks of 3"});
        expect_invalid([&] { static_cast<void>(half.blocks_of(0)); }, {"blocks of 0"});
        expect_invalid([] { static_cast<void>(Group().split(0)); }, {"not a member"});
    });
}

TEST(Subgroups, HaveATimeoutOfTheirOwn) {
    run_ranks(2, [](World& world) {
        GroupOptions options("hasty");
        options.timeout = 100ms;
        const Group group = world.group({0, 1}, options);
        if (world.rank() == 0) {
            const auto start = std::chrono::steady_clock::now();
            test::expect_error(ErrorCode::timeout, {"\"hasty\"", "0.1 s"},
                               [&] { group.barrier(); });
            EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
        }
        world.group().barrier();
    });
}

TEST(Subgroups, WhoseLowestMemberIsGoneFailAtOnce) {
    run_ranks(3, [](World& world) {
        if (world.rank() == 0) return;
        test::expect_error(ErrorCode::peer_lost,
                           {"making group \"late\" of ranks 0,1,2", "rank 0 has left the world"},
                           [&] { static_cast<void>(world.group({0, 1, 2}, "late")); });
    });
}

TEST(Subgroups, AreNotWaitedForWhereTheWorldIsAborted) {
    run_ranks(2, [](World& world) {
        if (world.rank() == 0) {
            static_cast<void>(world.store().get("seen", Timeout(60'000)));
            return;
        }
        std::thread other([&] { world.abort("the disk is full"); });
        test::expect_error(ErrorCode::aborted, {"making group", "the disk is full"},
                           [&] { static_cast<void>(world.group({0, 1}, "pair")); });
        other.join();
        world.store().set("seen", "");
    });
}

}  // namespace
}  // namespace trireme
