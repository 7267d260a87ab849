// Operations through a group's commons: the short way of a blocking call and the long way of all
// others take the same steps, so ranks may go different ways in one operation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

const WorldOptions shared = test_options(Transport::shm);

// Blocking, started or prepared: as this rank likes.
template <class Blocking, class Started>
void either_way(unsigned way, Blocking blocking, Started started) {
    if (way % 3 == 0) return blocking();
    Work work = started();
    if (way % 3 == 1) std::this_thread::yield();
    work.wait();
}

TEST(Cells, RanksGoDifferentWaysInOneOperation) {
    for (const int size : {2, 3, 8})
        run_ranks(
            size,
            [&](World& world) {
                const Group group = world.group();
                const int rank = group.rank();
                std::mt19937 same(7);
                std::mt19937 own(static_cast<unsigned>(rank));
                for (int round = 0; round < 400; ++round) {
                    // Little and more, through cells and not.
                    const std::size_t count = std::size_t{1} << same() % 13;
                    const int root = static_cast<int>(same() % static_cast<unsigned>(size));
                    std::vector<int> data(count, rank + round);
                    std::vector<int> all(count * static_cast<std::size_t>(size));
                    const unsigned kind = same() % 4;
                    if (own() % 50 == 0) std::this_thread::sleep_for(1ms);
                    const unsigned way = own();
                    if (kind == 0) {
                        either_way(
                            way, [&] { group.all_reduce(data); },
                            [&] { return group.all_reduce_async(data); });
                        ASSERT_THAT(data, Each(size * round + size * (size - 1) / 2));
                    } else if (kind == 1) {
                        either_way(
                            way, [&] { group.broadcast(data, Root{root}); },
                            [&] { return group.broadcast_async(data, Root{root}); });
                        ASSERT_THAT(data, Each(root + round));
                    } else if (kind == 2) {
                        either_way(
                            way, [&] { group.all_gather(data, all); },
                            [&] { return group.all_gather_async(data, all); });
                        for (std::size_t i = 0; i < all.size(); ++i)
                            ASSERT_EQ(all[i], static_cast<int>(i / count) + round);
                    } else {
                        either_way(
                            way, [&] { group.barrier(); }, [&] { return group.barrier_async(); });
                    }
                }
            },
            shared);
}

TEST(Cells, ManyStartedAtOnceEndInOrderThoughThereAreFewCells) {
    run_ranks(
        3,
        [](World& world) {
            const Group group = world.group();
            std::vector<int> values(300);
            std::vector<Work> works;
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<int>(i) * (group.rank() + 1);
                works.push_back(group.all_reduce_async(values[i]));
            }
            int last = group.rank();
            group.all_reduce(last);  // a blocking call among them
            EXPECT_EQ(last, 3);
            wait_all(works);
            for (std::size_t i = 0; i < values.size(); ++i)
                EXPECT_EQ(values[i], static_cast<int>(i) * 6);
        },
        shared);
}

TEST(Cells, LongOnesMayEndFarAheadOfLittleOnes) {
    for (int round = 0; round < 10; ++round)
        run_ranks(
            4,
            [](World& world) {
                const Group group = world.group();
                std::vector<std::vector<int>> data;
                for (int i = 0; i < 300; ++i) data.emplace_back(i % 4 == 0 ? 3 : 5'000, i);
                std::vector<Work> works;
                for (auto& one : data) works.push_back(group.all_reduce_async(one));
                wait_all(works);
                for (int i = 0; i < 300; ++i)
                    ASSERT_EQ(data[static_cast<std::size_t>(i)].back(), 4 * i);
            },
            shared);
}

TEST(Cells, ARootMayBeAheadOfTheOthers) {
    run_ranks(
        4,
        [](World& world) {
            const Group group = world.group();
            for (int i = 0; i < 300; ++i) {
                int value = group.rank() == 1 ? i : -1;
                if (group.rank() != 1 && i % 40 == 0) std::this_thread::sleep_for(2ms);
                group.broadcast(value, Root{1});
                EXPECT_EQ(value, i);
            }
        },
        shared);
}

// Short calls alone must not keep a rank from what else comes: messages to a group that the
// receiver has given up, more than a sender may send ahead.
TEST(Cells, MessagesAreTakenInBetweenShortCalls) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group();
            Group aside = world.group({0, 1}, "aside");
            aside.barrier();
            if (world.rank() == 1) aside = Group();
            const std::vector<char> data(4'000);
            for (int i = 0; i < 3'000; ++i) {
                if (world.rank() == 0) aside.send(data, Peer{1});
                group.barrier();
            }
        },
        shared);
}

// What a rank brought before it left is there for those that come later.
TEST(Cells, ARankMayLeaveOnceItHasBroughtItsPart) {
    for (int round = 0; round < 20; ++round)
        run_ranks(
            3,
            [&](World& world) {
                const Group group = world.group();
                int value = group.rank();
                if (group.rank() == 0) {
                    group.broadcast(value, Root{0});
                    return;
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(round % 4 * 5));
                group.broadcast(value, Root{0});
                EXPECT_EQ(value, 0);
                // Its next part never comes.
                try {
                    group.barrier();
                    ADD_FAILURE() << "a barrier without rank 0";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::peer_lost);
                    EXPECT_EQ(error.ranks(), std::vector{0});
                    EXPECT_THAT(error.what(), HasSubstr("rank 0 has left the world"));
                }
            },
            shared);
}

// Nobody needs anything of the others, so each call returns; the next one that needs all does not.
TEST(Cells, DifferentRootsAreFoundLaterOn) {
    for (const int calls : {1, 2, 3, 4, 5, 9})
        run_ranks(
            3,
            [&](World& world) {
                const Group group = world.group();
                group.barrier();
                std::optional<Error> failure;
                try {
                    for (int i = 0; i < calls; ++i) {
                        int value = group.rank();
                        group.broadcast(value, Root{group.rank()});
                    }
                    group.barrier();
                } catch (const Error& error) {
                    failure = error;
                }
                ASSERT_TRUE(failure);
                EXPECT_EQ(failure->code(), ErrorCode::mismatch) << failure->what();
                EXPECT_THAT(failure->what(), HasSubstr("these differ in the root"));
                EXPECT_THAT(failure->what(), HasSubstr("called broadcast #2 int32[1] root"));
            },
            shared);
}

// Each of two ranks believes that it is the root and waits for the other: no message tells, but
// what they show in their cells.
TEST(Cells, RootsThatAllWaitSeeEachOther) {
    run_ranks(
        2,
        [](World& world) {
            std::vector<double> data(4);
            try {
                world.group().reduce(data, Root{world.rank()});
                ADD_FAILURE() << "a reduce to two roots";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::mismatch);
                EXPECT_THAT(error.what(), HasSubstr("these differ in the root"));
            }
        },
        shared);
}

// One rank goes through cells, the others send messages: each sees the other's call.
TEST(Cells, LittleAndMuchDoNotFit) {
    for (const bool away : {false, true})
        run_ranks(
            3,
            [&](World& world) {
                const Group group = world.group();
                std::vector<float> data(group.rank() == 1 ? 2 : away ? 5'000 : 100'000);
                try {
                    group.broadcast(data, Root{1});
                    // It is away, or asks for more.
                    if (away && group.rank() == 1) std::this_thread::sleep_for(1s);
                    group.barrier();
                    ADD_FAILURE() << "broadcasts of different lengths";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
                    EXPECT_THAT(error.what(), HasSubstr("these differ in the count"));
                }
            },
            shared);
}

TEST(Cells, AGroupMayGoBeforeTheOthersHaveMadeIt) {
    run_ranks(
        3,
        [](World& world) {
            for (int i = 0; i < 20; ++i) {
                if (world.rank() != 0) std::this_thread::sleep_for(2ms);
                const Group group = world.group({0, 1, 2});
                if (world.rank() == 0) continue;
                // It works between those that have it.
                int value = world.rank();
                if (world.rank() == 1) group.send(value, Peer{2});
                if (world.rank() == 2) group.recv(value, Peer{1});
                EXPECT_EQ(value, 1);
            }
            world.group().barrier();
        },
        shared);
}

std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
}

TEST(Cells, TheMemoryOfAGroupKeepsNoDescriptorOnceAllHaveMappedIt) {
    run_ranks(
        2,
        [](World& world) {
            world.group().barrier();
            world.group().barrier();
            const auto before = open_descriptors();
            std::vector<Group> groups;
            for (int i = 0; i < 50; ++i) {
                groups.push_back(world.group({0, 1}));
                groups.back().barrier();
                groups.back().barrier();
            }
            world.group().barrier();
            EXPECT_LE(open_descriptors(), before + 1);
            world.group().barrier();
        },
        shared);
}

TEST(Cells, TheOperationsRecordSaysSo) {
    run_ranks(
        2,
        [](World& world) {
            int value = 1;
            Work work = world.group().all_reduce_async(value);
            work.wait();
            EXPECT_EQ(work.algorithm(), "cells");
        },
        shared);
}

}  // namespace
}  // namespace trireme
