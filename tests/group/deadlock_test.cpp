// Ranks that wait for one another in a circle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/meeting.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Deadlock : public testing::TestWithParam<Transport> {
protected:
    // Every rank's call must fail with this circle, long before the minute that it may take.
    template <class... Ranks>
    static void expect_circle(int ranks, const std::function<void(World&)>& call,
                              const std::vector<std::string>& texts, Ranks... circle) {
        test::Meeting end(ranks);
        run_ranks(
            ranks,
            [&](World& world) {
                try {
                    call(world);
                    ADD_FAILURE() << "rank " << world.rank() << " went on";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::deadlock) << error.what();
                    EXPECT_THAT(error.ranks(), UnorderedElementsAre(circle...));
                    for (const std::string& text : texts)
                        EXPECT_THAT(error.what(), HasSubstr(text));
                }
                end.wait();
            },
            test_options(GetParam()));
    }
};

TEST_P(Deadlock, ThroughTwoGroupsInDifferentOrders) {
    expect_circle(
        2,
        [](World& world) {
            const Group one = world.group({0, 1}, "one");
            const Group two = world.group({0, 1}, "two");
            world.group().barrier();
            float x = 0;
            (world.rank() == 0 ? one : two).all_reduce(x);
        },
        {"deadlock: rank ", "rank 0 is in all_reduce #1 float32[1] sum (deadlock_test.cpp:",
         "on group \"one\" and waits for rank 1", "rank 1 is in all_reduce #1 ",
         "on group \"two\" and waits for rank 0"},
        0, 1);
}

TEST_P(Deadlock, OfStartedOperationsThatAreWaitedFor) {
    expect_circle(
        2,
        [](World& world) {
            const Group one = world.group({0, 1}, "one");
            const Group two = world.group({0, 1}, "two");
            float x = 0;
            float y = 0;
            Work first = (world.rank() == 0 ? one : two).all_reduce_async(x);
            first.wait();
            (world.rank() == 0 ? two : one).all_reduce_async(y).wait();
        },
        {"rank 0 is in all_reduce #1 ", "on group \"one\" and waits for rank 1",
         "on group \"two\" and waits for rank 0"},
        0, 1);
}

// Who starts both before it waits for one does not stand in the way.
TEST_P(Deadlock, IsNotSeenWhereBothAreStarted) {
    run_ranks(
        2,
        [](World& world) {
            const Group one = world.group({0, 1}, "one");
            const Group two = world.group({0, 1}, "two");
            if (world.rank() == 1) std::this_thread::sleep_for(1s);
            float x = 1;
            float y = 1;
            Work first = (world.rank() == 0 ? one : two).all_reduce_async(x);
            Work second = (world.rank() == 0 ? two : one).all_reduce_async(y);
            first.wait();
            second.wait();
            EXPECT_EQ(x + y, 4);
        },
        test_options(GetParam()));
}

// Not every collective needs every rank: who gets a broadcast needs its root.
TEST_P(Deadlock, IsNotSeenWhereTheMissingRankIsNotNeeded) {
    run_ranks(
        3,
        [](World& world) {
            const Group group = world.group();
            int x = world.rank() == 0 ? 7 : 0;
            int y = 5;
            if (world.rank() == 0) std::this_thread::sleep_for(1500ms);
            if (world.rank() == 2) group.recv(y, Peer{1});
            group.broadcast(x, Root{0});
            if (world.rank() == 1) group.send(6, Peer{2});
            EXPECT_EQ(x, 7);
            EXPECT_EQ(y, world.rank() == 2 ? 6 : 5);
        },
        test_options(GetParam()));
}

// A callback may yet make the call that is missing.
TEST_P(Deadlock, IsOnlySuspectedWhereACallbackMayHelp) {
    run_ranks(
        2,
        [](World& world) {
            const Group one = world.group({0, 1}, "one");
            const Group two = world.group({0, 1}, "two");
            const Group three = world.group({0, 1}, "three");
            int x = 1;
            int y = 1;
            Work helped;
            std::atomic<bool> called{false};
            // Rank 1's comes late, on a thread that the board cannot see before it calls.
            std::thread late([&] {
                std::this_thread::sleep_for(1s);
                if (world.rank() == 1) three.barrier_async().wait();
            });
            Work third = world.rank() == 0 ? three.barrier_async() : Work();
            if (world.rank() == 0)
                third.then([&](const std::exception_ptr&) {
                    helped = two.all_reduce_async(y);
                    called = true;
                });
            if (world.rank() == 0) {
                one.all_reduce(x);
            } else {
                two.all_reduce(y);
                one.all_reduce(x);
            }
            while (world.rank() == 0 && !called) std::this_thread::sleep_for(1ms);
            helped.wait();
            late.join();
            EXPECT_EQ(x + y, 4);
        },
        test_options(GetParam()));
}

TEST_P(Deadlock, OfReceivesThatNobodySends) {
    expect_circle(
        3,
        [](World& world) {
            int x = 0;
            world.group().recv(x, Peer{(world.rank() + 1) % 3}, Tag{5});
        },
        {"rank 0 is in recv #1 int32[1] from rank 1 tag 5", "waits for rank 1",
         "rank 2 is in recv #1 int32[1] from rank 0 tag 5"},
        0, 1, 2);
}

TEST_P(Deadlock, OfLargeSendsToOneAnother) {
    expect_circle(
        2,
        [](World& world) {
            const std::vector<double> data(500'000);
            world.group().send(data, Peer{1 - world.rank()});
        },
        {"rank 0 is in send #1 float64[500000] to rank 1", "rank 1 is in send #1"}, 0, 1);
}

TEST_P(Deadlock, OfReceivesFromAnywhere) {
    expect_circle(
        3,
        [](World& world) {
            int x = 0;
            world.group().recv(x, any_source);
        },
        {"from any rank", "waits for any of ranks"}, 0, 1);
}

TEST_P(Deadlock, ACollectiveAgainstAMessage) {
    expect_circle(
        2,
        [](World& world) {
            const Group pair = world.group({0, 1}, "pair");
            int x = 0;
            if (world.rank() == 0)
                world.group().barrier();
            else
                pair.recv(x, Peer{0});
        },
        {"rank 0 is in barrier #1", "rank 1 is in recv #1", "on group \"pair\""}, 0, 1);
}

// Long waits that will end.
// Of a call to or from a root, and of a scan, only some ranks are needed.
TEST_P(Deadlock, OfACallThatNeedsSomeRanksAgainstAMessage) {
    using Call = std::function<void(const Group&, std::vector<int>&)>;
    struct Case {
        std::string name;
        int needs;  // the rank that the other one needs
        Call call;
    };
    std::vector<int> four(4);
    const std::vector<Case> cases{
        {"broadcast", 0, [](auto& group, auto& x) { group.broadcast(x, Root{0}); }},
        {"scatter", 1,
         [&](auto& group, auto& x) {
             group.scatter(group.rank() == 1 ? four : std::vector<int>(), x, Root{1});
         }},
        {"reduce", 0, [](auto& group, auto& x) { group.reduce(x, Root{1}); }},
        {"gather", 1,
         [&](auto& group, auto& x) {
             std::vector<int> all(group.rank() == 0 ? 4 : 0);
             group.gather(x, all, Root{0});
         }},
        {"scan", 0, [](auto& group, auto& x) { group.scan(x); }},
        {"all_to_all", 1,
         [](auto& group, auto& x) {
             std::vector<int> out(x.size());
             group.all_to_all(x, out);
         }},
    };
    for (const Case& one : cases) {
        expect_circle(
            2,
            [&](World& world) {
                const Group group = world.group();
                std::vector<int> x(2);
                if (group.rank() == one.needs)
                    group.recv(x, Peer{1 - one.needs});
                else
                    one.call(group, x);
            },
            {"is in " + one.name + " #", "is in recv #"}, 0, 1);
    }
}

TEST_P(Deadlock, IsNotSeenWhereThereIsNone) {
    run_ranks(
        4,
        [](World& world) {
            const Group group = world.group();
            const Group low = world.group({0, 1, 2}, "low");
            int x = 1;
            // A chain of waits for a rank that is busy.
            if (world.rank() == 3) std::this_thread::sleep_for(2s);
            if (world.rank() == 2) {
                group.recv(x, Peer{3});
                low.barrier();
            } else if (world.rank() == 3) {
                group.send(x, Peer{2});
            } else {
                low.barrier();
            }
            // Of what was started only, the thread may yet make the other side's call.
            if (world.rank() == 2) {
                std::this_thread::sleep_for(2s);
                group.barrier();
                low.barrier();
            } else {
                Work started = low.is_member() ? low.barrier_async() : Work();
                group.barrier();
                started.wait();
            }
        },
        test_options(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Each, Deadlock, testing::Values(Transport::automatic, Transport::tcp),
                         [](const auto& tested) {
                             return tested.param == Transport::tcp ? "tcp" : "shm";
                         });

}  // namespace
}  // namespace trireme
