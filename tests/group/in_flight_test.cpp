// Many operations at once, and timeouts at the edge of what a clock can count.

#include <gtest/gtest.h>

#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

class InFlight : public testing::TestWithParam<Transport> {};

// As gradient buckets are: large enough for the algorithms that work in the peers' memory, on two
// groups whose operations the ranks start in different orders.
TEST_P(InFlight, ManyLargeReductionsOnTwoGroups) {
    constexpr std::size_t operations = 60;
    constexpr std::size_t count = 20'000;
    run_ranks(
        4,
        [&](World& world) {
            const Group all = world.group();
            const Group pair = world.group({world.rank() / 2 * 2, world.rank() / 2 * 2 + 1});
            std::vector<std::vector<float>> data(2 * operations, std::vector<float>(count, 1));
            std::vector<Work> works;
            for (std::size_t i = 0; i < operations; ++i) {
                const bool all_first = world.rank() % 2 == 0;
                for (const bool whole : {all_first, !all_first})
                    works.push_back(
                        (whole ? all : pair).all_reduce_async(data[2 * i + (whole ? 1 : 0)]));
            }
            for (Work& work : works) work.wait();
            for (std::size_t i = 0; i < operations; ++i) {
                EXPECT_EQ(data[2 * i], std::vector<float>(count, 2));
                EXPECT_EQ(data[2 * i + 1], std::vector<float>(count, 4));
            }
        },
        test_options(GetParam()));
}

// Large messages that nobody receives yet take nothing that other groups need.
TEST_P(InFlight, UnreceivedMessagesDoNotStopAnotherGroup) {
    constexpr std::size_t messages = 400;
    constexpr std::size_t count = 10'000;
    run_ranks(
        2,
        [&](World& world) {
            const Group group = world.group();
            const Group other = world.group({0, 1}, "other");
            std::vector<double> sent(count, 3);
            std::vector<std::vector<double>> received(messages, std::vector<double>(count));
            std::vector<Work> works;
            if (world.rank() == 0) {
                for (std::size_t i = 0; i < messages; ++i)
                    works.push_back(group.send_async(sent, Peer{1}));
            }
            std::vector<float> data(100'000, 1);
            other.all_reduce(data);
            EXPECT_EQ(data, std::vector<float>(100'000, 2));
            if (world.rank() == 1) {
                for (std::vector<double>& message : received) group.recv(message, Peer{0});
            }
            for (Work& work : works) work.wait();
            if (world.rank() == 1) {
                for (const auto& message : received) EXPECT_EQ(message, sent);
            }
        },
        test_options(GetParam()));
}

TEST_P(InFlight, TheLongestTimeoutIsNoShortOne) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group().with(Timeout::max());
            int data = 1;
            group.all_reduce(data);
            EXPECT_EQ(data, 2);
            Work work = group.all_reduce_async(data);
            EXPECT_TRUE(work.wait_for(Timeout::max()));
            EXPECT_EQ(data, 4);
        },
        test_options(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Each, InFlight, testing::Values(Transport::automatic, Transport::tcp),
                         [](const auto& tested) {
                             return tested.param == Transport::tcp ? "tcp" : "shm";
                         });

}  // namespace
}  // namespace trireme
