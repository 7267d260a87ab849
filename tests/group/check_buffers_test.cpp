// TRIREME_CHECK_BUFFERS: what is done to the buffers of started operations before their end.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using test::expect_error;

WorldOptions checking() {
    WorldOptions options = test_options();
    options.check_buffers = true;
    return options;
}

// Rank 1 makes its call when rank 0 has done something to its buffers.
void with_both_started(World& world, const std::function<Work()>& start,
                       const std::function<void()>& touch, const std::function<void(Work&)>& end) {
    if (world.rank() == 1) static_cast<void>(world.store().get("touched", Timeout(60'000)));
    Work work = start();
    if (world.rank() == 0) {
        touch();
        world.store().set("touched", "");
    }
    end(work);
}

TEST(CheckBuffers, RightProgramsAreRight) {
    run_ranks(
        3,
        [](World& world) {
            const Group group = world.group();
            const int rank = world.rank();
            std::vector<int> x{rank, 10 * rank};
            std::vector<int> all(6);
            std::vector<int> mine(3, rank);
            for (int round = 0; round < 3; ++round) {
                x = {rank, 10 * rank};
                group.all_reduce_async(x).wait();
                EXPECT_EQ(x, (std::vector{3, 30}));
                group.all_gather_async(x, all).wait();
                EXPECT_EQ(all, (std::vector{3, 30, 3, 30, 3, 30}));
                // Its own part of the output.
                all[static_cast<std::size_t>(rank)] = rank;
                const std::span<int> parts(all.data(), 3);
                group.all_gather_async(parts.subspan(static_cast<std::size_t>(rank), 1), parts)
                    .wait();
                EXPECT_EQ(std::vector(parts.begin(), parts.end()), (std::vector{0, 1, 2}));
                std::vector<int> one(1, rank);
                group.reduce_async(one, Root{1}).wait();
                EXPECT_EQ(one[0], rank == 1 ? 3 : rank);
                Prepared again = group.prepare_all_reduce(mine);
                mine.assign(3, rank);
                again.start();
                again.wait();
                mine.assign(3, 1);
                again.start();
                again.wait();
                EXPECT_EQ(mine, std::vector(3, 3));
            }
        },
        checking());
}

TEST(CheckBuffers, AnOutputThatIsWritten) {
    run_ranks(
        2,
        [](World& world) {
            std::vector<float> x(100, 1);
            with_both_started(
                world, [&] { return world.group().all_reduce_async(x); }, [&] { x[3] = 5; },
                [&](Work& work) {
                    if (world.rank() == 1) return work.wait();
                    expect_error(ErrorCode::invalid_argument,
                                 {"all_reduce #1 float32[100] sum (check_buffers_test.cpp:",
                                  "its output, element 3 of 100, was written before its end"},
                                 [&] { work.wait(); });
                });
            EXPECT_EQ(x, std::vector<float>(100, 2));
            // The group goes on.
            world.group().barrier();
        },
        checking());
}

TEST(CheckBuffers, AnInputThatIsWritten) {
    run_ranks(
        2,
        [](World& world) {
            std::vector<float> x(10, 1);
            std::vector<float> y(10, 0);
            with_both_started(
                world, [&] { return world.group().all_reduce_async(x, y); }, [&] { x[9] = 5; },
                [&](Work& work) {
                    if (world.rank() == 1) return work.wait();
                    expect_error(ErrorCode::invalid_argument, {"its input, element 9 of 10"},
                                 [&] { work.wait(); });
                });
            EXPECT_EQ(y, std::vector<float>(10, 2));
        },
        checking());
}

TEST(CheckBuffers, AnOutputThatIsReadTooEarlyIsNotANumber) {
    run_ranks(
        2,
        [](World& world) {
            std::vector<float> x(10, 1);
            std::vector<float> y(10, 0);
            with_both_started(
                world, [&] { return world.group().all_reduce_async(x, y); },
                [&] { EXPECT_TRUE(std::isnan(y[4])); }, [&](Work& work) { work.wait(); });
            EXPECT_EQ(y, std::vector<float>(10, 2));
        },
        checking());
}

}  // namespace
}  // namespace trireme
