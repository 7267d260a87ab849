// What hangs elsewhere: calls that do not fit, ranks that do not come, groups made at once.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/meeting.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::expect_error;
using test::Meeting;

class Hangs : public testing::TestWithParam<Transport> {
protected:
    static void on(int ranks, const std::function<void(World&)>& body) {
        run_ranks(ranks, body, test_options(GetParam()));
    }

    // The calls of the two ranks do not fit: both are told, with both calls; and so is the barrier
    // that follows. A rank's call may have returned: then the barrier tells it.
    static void expect_mismatch(const std::function<void(const Group&)>& zero,
                                const std::function<void(const Group&)>& one,
                                const std::vector<std::string>& texts) {
        Meeting end(2);
        on(2, [&](World& world) {
            const Group group = world.group();
            std::string said;
            for (int call = 0; call < 2; ++call) {
                try {
                    if (call == 1)
                        group.barrier();
                    else if (world.rank() == 0)
                        zero(group);
                    else
                        one(group);
                    EXPECT_EQ(call, 0) << "the barrier went on";
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
                    said = error.what();
                }
            }
            for (const std::string& text : texts)
                EXPECT_NE(said.find(text), said.npos) << "no \"" << text << "\" in: " << said;
            end.wait();
        });
    }
};

TEST_P(Hangs, C15_GathersOfDifferentShapes) {
    expect_mismatch(
        [](const Group& group) {
            std::vector<float> in(12);
            std::vector<float> out(24);
            group.all_gather(in, out);
        },
        [](const Group& group) {
            std::vector<float> in(1);
            std::vector<float> out(2);
            group.all_gather(in, out);
        },
        {"all_gather #1", "rank 0 called all_gather", "float32[12]", "rank 1 called all_gather",
         "float32[1]", "hangs_test.cpp:"});
}

TEST_P(Hangs, C15_SumsOfDifferentLengths) {
    expect_mismatch(
        [](const Group& group) {
            std::vector<float> x(100);
            group.all_reduce(x);
        },
        [](const Group& group) {
            std::vector<float> x(200);
            group.all_reduce(x);
        },
        {"all_reduce #1", "float32[100] sum", "float32[200] sum"});
}

TEST_P(Hangs, C15_DifferentOperations) {
    expect_mismatch(
        [](const Group& group) {
            std::vector<float> x(4);
            group.all_reduce(x);
        },
        [](const Group& group) {
            std::vector<float> x(4);
            group.broadcast(x, Root{0});
        },
        {"called all_reduce", "float32[4] sum", "called broadcast", "float32[4] root 0"});
}

TEST_P(Hangs, C15_DifferentDtypesOfEquallyManyBytes) {
    expect_mismatch(
        [](const Group& group) {
            std::vector<float> x(4);
            group.all_reduce(x);
        },
        [](const Group& group) {
            std::vector<double> x(2);
            group.all_reduce(x);
        },
        {"float32[4] sum", "float64[2] sum"});
}

TEST_P(Hangs, C16_ARankSkipsABarrierAndExits) {
    on(4, [](World& world) {
        if (world.rank() == 3) return world.group().barrier();
        // One that is slow may hear of it in its first barrier.
        expect_error(ErrorCode::peer_lost, {"barrier #2", "rank 3 has left the world"}, [&] {
            world.group().barrier();
            world.group().barrier();
        });
    });
}

TEST_P(Hangs, C16_ARankThrows) {
    try {
        on(4, [](World& world) {
            if (world.rank() == 3) throw std::logic_error("3");
            // Its goodbye comes at once, so this rank's call may only just begin.
            expect_error(ErrorCode::peer_lost,
                         {"barrier #", "rank 3 has left the world: an exception ended it"}, [&] {
                             for (;;) world.group().barrier();
                         });
        });
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::logic_error& error) {
        EXPECT_STREQ(error.what(), "3");
    }
}

TEST_P(Hangs, C18_DisjointGroupsMadeAtOnce) {
    on(4, [](World& world) {
        const int rank = world.rank();
        const std::vector<int> members =
            rank == 0 || rank == 3 ? std::vector{0, 3} : std::vector{1, 2};
        std::minstd_rand random(static_cast<unsigned>(rank + 1));
        for (int round = 0; round < 50; ++round) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            const Group pair = world.group(members);
            pair.barrier();
            int sum = rank;
            pair.all_reduce(sum);
            EXPECT_EQ(sum, 3);
        }
    });
}

TEST_P(Hangs, C18_GroupsOfDifferentMembers) {
    Meeting end(3);
    WorldOptions options = test_options(GetParam());
    options.timeout = 3s;
    run_ranks(
        3,
        [&](World& world) {
            if (world.rank() == 0) {
                static_cast<void>(world.group({0, 1, 2}, "three"));
            } else {
                expect_error(
                    ErrorCode::timeout,
                    {"making group \"pair\" of ranks 0,", "rank 0 has not called anything yet",
                     "the last group that it made is \"three\" of ranks 0,1,2"},
                    [&] { static_cast<void>(world.group({0, world.rank()}, "pair")); });
            }
            end.wait();
        },
        options);
}

TEST_P(Hangs, C24_TheTimeoutOfACall) {
    Meeting end(3);
    on(3, [&](World& world) {
        const Group group = world.group({0, 1, 2}, {"slow"}).with(60s);
        if (world.rank() != 2) {
            float x = 0;
            expect_error(ErrorCode::timeout,
                         {"all_reduce #1", "for rank 2", "rank 2 has not called anything yet"},
                         [&] { group.with(1s).all_reduce(x); });
            // The group has failed for good.
            expect_error(ErrorCode::timeout, {"cannot start, the group has failed"},
                         [&] { group.all_reduce(x); });
        }
        end.wait();
    });
}

TEST_P(Hangs, C24_AWaitWithALimitOfItsOwn) {
    std::atomic<bool> looked = false;
    on(3, [&](World& world) {
        float x = 1;
        while (world.rank() == 2 && !looked) std::this_thread::sleep_for(1ms);
        Work work = world.group().all_reduce_async(x);
        if (world.rank() == 0) {
            EXPECT_FALSE(work.wait_for(100ms));
            looked = true;
        }
        work.wait();
        EXPECT_EQ(x, 3);
    });
}

INSTANTIATE_TEST_SUITE_P(Cases, Hangs, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& one) {
                             return std::string(one.param == Transport::shm ? "shm" : "tcp");
                         });

}  // namespace
}  // namespace trireme
