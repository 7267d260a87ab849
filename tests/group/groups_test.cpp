// Subgroups: who makes them, in which order, how many at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using test::expect_invalid;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

int sum_over(const Group& group, int value) {
    group.all_reduce(value);
    return value;
}

TEST(Groups, AreMadeInAnyOrderWithoutTheOthers) {
    run_ranks(8, [](World& world) {
        // All pairs that this rank is in; each rank makes them in an order of its own.
        const int rank = world.rank();
        std::vector<int> others;
        for (int other = 0; other < 8; ++other)
            if (other != rank) others.push_back(other);
        std::rotate(others.begin(), others.begin() + rank % 7, others.end());
        if (rank % 2 == 1) std::reverse(others.begin(), others.end());
        std::vector<std::pair<int, Group>> pairs;
        for (const int other : others)
            pairs.emplace_back(other, world.group({std::min(rank, other), std::max(rank, other)}));
        std::sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
            // Blocking calls need one order for all: by the pair's two ranks.
            return std::pair(std::min(rank, a.first), std::max(rank, a.first)) <
                   std::pair(std::min(rank, b.first), std::max(rank, b.first));
        });
        for (const auto& [other, group] : pairs) {
            EXPECT_EQ(group.rank(), rank < other ? 0 : 1);
            EXPECT_EQ(sum_over(group, 1 << rank), (1 << rank) + (1 << other));
        }
    });
}

TEST(Groups, KeepTheOrderOfTheirRanks) {
    run_ranks(4, [](World& world) {
        const std::vector<int> order{2, 0, 3, 1};
        const Group group = world.group(order, "mixed");
        EXPECT_EQ(group.name(), "mixed");
        EXPECT_THAT(group.ranks(), ElementsAreArray(order));
        EXPECT_EQ(order[static_cast<std::size_t>(group.rank())], world.rank());
        std::vector<int> all(4);
        const int own = world.rank();
        group.all_gather(own, all);
        EXPECT_EQ(all, order);
        int from_root = world.rank();
        group.broadcast(from_root, Root{0});
        EXPECT_EQ(from_root, 2);
    });
}

TEST(Groups, DisjointOnesWorkAtTheSameTime) {
    run_ranks(8, [](World& world) {
        const int half = world.rank() / 4;
        const Group group = half == 0 ? world.group({0, 1, 2, 3}) : world.group({4, 5, 6, 7});
        for (int round = 0; round < 50; ++round) {
            EXPECT_EQ(sum_over(group, world.rank() + round), 6 + 16 * half + 4 * round);
            std::vector<float> data(round % 10 == 0 ? 50'000 : 10, 1);
            group.all_reduce(data);
            EXPECT_EQ(data.back(), 4);
        }
    });
}

TEST(Groups, OfTheSameMembersAreDistinct) {
    run_ranks(3, [](World& world) {
        const Group first = world.group({0, 1, 2});
        const Group second = world.group({0, 1, 2});
        // Opposite orders: only two groups of their own can match these.
        if (world.rank() == 1) {
            auto a = second.barrier_async();
            EXPECT_EQ(sum_over(first, 1), 3);
            a.wait();
        } else {
            int value = 1;
            auto a = first.all_reduce_async(value);
            second.barrier();
            a.wait();
            EXPECT_EQ(value, 3);
        }
        if (world.rank() == 0) first.abort("only this one");
        EXPECT_THROW(first.barrier(), Error);
        second.barrier();
    });
}

TEST(Groups, NonMembersHoldOneThatTheyCannotUse) {
    run_ranks(3, [](World& world) {
        const Group group = world.group({2, 0});
        EXPECT_EQ(group.is_member(), world.rank() != 1);
        if (world.rank() == 1) {
            EXPECT_EQ(group.rank(), -1);
            EXPECT_EQ(group.size(), 0);
            EXPECT_EQ(group.name(), "");
            EXPECT_TRUE(group.ranks().empty());
            expect_invalid([&] { group.barrier(); }, {"not a member"});
            expect_invalid([&] { group.barrier_async().wait(); }, {"not a member"});
            expect_invalid([&] { group.abort("x"); }, {"not a member"});
            expect_invalid([] { Group().barrier(); }, {"not a member"});
        } else {
            group.barrier();
        }
    });
}

TEST(Groups, OfWrongRanksAreRefusedByEverybody) {
    run_ranks(3, [](World& world) {
        expect_invalid([&] { static_cast<void>(world.group(std::vector<int>{})); },
                       {"at least one rank"});
        expect_invalid([&] { static_cast<void>(world.group({0, 1, 0})); },
                       {"[0, 1, 0]", "0 is there twice"});
        expect_invalid([&] { static_cast<void>(world.group({0, 3})); },
                       {"3 is not a rank", "0 to 2"});
        expect_invalid([&] { static_cast<void>(world.group({-1})); }, {"-1 is not a rank"});
        expect_invalid([&] { static_cast<void>(world.transport(3)); }, {"3", "3"});
        world.group({2, 1, 0}).barrier();
    });
}

TEST(Groups, AreMadeOfParts) {
    run_ranks(8, [](World& world) {
        std::vector<int> ranks(8);
        std::iota(ranks.begin(), ranks.end(), 0);
        int sum_of_ranks = 28;
        while (ranks.size() > 1) {
            const Group group = world.group(ranks);
            EXPECT_EQ(sum_over(group, world.rank()), sum_of_ranks);
            const auto half = static_cast<std::ptrdiff_t>(ranks.size() / 2);
            const bool upper = group.rank() >= half;
            ranks = upper ? std::vector(ranks.begin() + half, ranks.end())
                          : std::vector(ranks.begin(), ranks.begin() + half);
            sum_of_ranks = std::accumulate(ranks.begin(), ranks.end(), 0);
        }
        const Group alone = world.group({world.rank()});
        EXPECT_EQ(sum_over(alone, 5), 5);
    });
}

TEST(Groups, ManyComeAndGo) {
    run_ranks(4, [](World& world) {
        std::vector<int> data(1000);
        for (int i = 0; i < 200; ++i) {
            const Group group = world.group({0, 1, 2, 3});
            // Messages that nobody takes up go with their group.
            if (world.rank() == 0) group.send(data, Peer{1});
            EXPECT_EQ(sum_over(group, 1), 4);
        }
        world.group().barrier();
    });
}

TEST(Groups, AreMadeByTwoThreadsOfARank) {
    run_ranks(3, [](World& world) {
        const auto work = [&](const std::vector<int>& ranks) {
            for (int i = 0; i < 20; ++i) EXPECT_EQ(sum_over(world.group(ranks), 1), 3);
        };
        std::thread other([&] { work({0, 2, 1}); });
        work({1, 2, 0});
        other.join();
    });
}

}  // namespace
}  // namespace trireme
