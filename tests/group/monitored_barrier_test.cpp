// The barrier that names who has not come.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "support/meeting.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAreArray;
using testing::HasSubstr;

class MonitoredBarrier : public testing::TestWithParam<Transport> {};

TEST_P(MonitoredBarrier, HoldsEverybodyUntilAllHaveCome) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
        std::atomic<int> came = 0;
        run_ranks(
            ranks,
            [&](World& world) {
                for (int round = 1; round <= 20; ++round) {
                    ++came;
                    world.group().monitored_barrier();
                    EXPECT_GE(came, ranks * round);
                    world.group().barrier();
                }
            },
            test_options(GetParam()));
    }
}

TEST_P(MonitoredBarrier, NamesAllThatAreMissing) {
    constexpr int size = 7;
    for (const std::vector<int>& missing : {std::vector{3}, std::vector{1, 2, 5, 6}}) {
        test::Meeting end(size);
        run_ranks(
            size,
            [&](World& world) {
                if (std::ranges::find(missing, world.rank()) == missing.end()) {
                    try {
                        world.group().monitored_barrier(1s);
                        ADD_FAILURE() << "rank " << world.rank() << " went on";
                    } catch (const Error& error) {
                        EXPECT_EQ(error.code(), ErrorCode::timeout);
                        EXPECT_THAT(error.ranks(), ElementsAreArray(missing)) << error.what();
                        EXPECT_THAT(error.what(),
                                    HasSubstr("monitored_barrier #1 (monitored_barrier_test.cpp:"));
                    }
                }
                end.wait();
            },
            test_options(GetParam()));
    }
}

// Also one that waits for another of them in turn.
TEST_P(MonitoredBarrier, NamesThoseThatWaitForOneAnother) {
    test::Meeting end(4);
    run_ranks(
        4,
        [&](World& world) {
            const Group pair = world.group({1, 2}, "pair");
            int x = 0;
            if (world.rank() == 1) {
                EXPECT_THROW(pair.with(4s).recv(x, Peer{1}), Error);
            } else if (world.rank() != 2) {
                try {
                    world.group().monitored_barrier(2s);
                    ADD_FAILURE() << "rank " << world.rank() << " went on";
                } catch (const Error& error) {
                    EXPECT_THAT(error.ranks(), testing::ElementsAre(1, 2)) << error.what();
                }
            }
            end.wait();
        },
        test_options(GetParam()));
}

TEST_P(MonitoredBarrier, NamesRankZero) {
    test::Meeting end(3);
    run_ranks(
        3,
        [&](World& world) {
            if (world.rank() != 0) {
                try {
                    world.group().monitored_barrier(500ms);
                    ADD_FAILURE() << "rank " << world.rank() << " went on";
                } catch (const Error& error) {
                    EXPECT_THAT(error.ranks(), testing::ElementsAre(0)) << error.what();
                    EXPECT_THAT(error.what(), HasSubstr("rank 0 has not called anything yet"));
                }
            }
            end.wait();
        },
        test_options(GetParam()));
}

TEST_P(MonitoredBarrier, IsNoBarrier) {
    run_ranks(
        2,
        [&](World& world) {
            try {
                if (world.rank() == 0)
                    world.group().monitored_barrier();
                else
                    world.group().barrier();
                ADD_FAILURE() << "rank " << world.rank() << " went on";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
            }
        },
        test_options(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Each, MonitoredBarrier, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& one) {
                             return std::string(one.param == Transport::shm ? "shm" : "tcp");
                         });

}  // namespace
}  // namespace trireme
