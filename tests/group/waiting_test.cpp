// A rank that waits says for whom, and what they do instead.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/meeting.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::Meeting;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string site(unsigned line) { return "(waiting_test.cpp:" + std::to_string(line) + ")"; }

class Waiting : public testing::TestWithParam<Transport> {
protected:
    static void run(int ranks, const std::function<void(World&)>& body) {
        run_ranks(ranks, body, test_options(GetParam()));
    }
};

// Some of the ranks wait for this one only by way of others.
TEST_P(Waiting, NamesTheRankThatIsInUserCode) {
    Meeting all_saw(5);
    run(5, [&](World& world) {
        const Group group = world.group();
        group.barrier();
        const unsigned barrier = __LINE__ - 1;
        if (world.rank() != 3) {
            try {
                std::vector<float> x(8);
                group.with(500ms).all_reduce(x);
                ADD_FAILURE() << "the operation ended without rank 3";
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::timeout);
                EXPECT_THAT(error.ranks(), ElementsAre(3));
                EXPECT_THAT(error.what(), AllOf(HasSubstr("all_reduce #2 float32[8] sum "),
                                                HasSubstr("for rank 3 "),
                                                HasSubstr("rank 3 is in user code for "),
                                                HasSubstr("after barrier #1 " + site(barrier)),
                                                HasSubstr("on group \"world\"")));
            }
        }
        all_saw.wait();
    });
}

TEST_P(Waiting, SaysThatARankIsInAnotherCall) {
    Meeting all_saw(3);
    run(3, [&](World& world) {
        const Group group = world.group();
        const Group pair = world.group({0, 2}, "pair");
        if (world.rank() == 2) {
            int x = 0;
            EXPECT_THROW(pair.with(2s).recv(x, Peer{0}, Tag{7}), Error);
        } else {
            std::this_thread::sleep_for(50ms);
            try {
                group.with(600ms).barrier();
                ADD_FAILURE() << "the barrier ended without rank 2";
            } catch (const Error& error) {
                EXPECT_THAT(error.ranks(), ElementsAre(2));
                EXPECT_THAT(
                    error.what(),
                    AllOf(HasSubstr("rank 2 is in recv #1 int32[1] from rank 0 tag 7 "),
                          HasSubstr("on group \"pair\" for "), HasSubstr("and waits for rank 0")));
            }
        }
        all_saw.wait();
    });
}

TEST_P(Waiting, SaysThatARankHasNotCalledAnything) {
    Meeting all_saw(2);
    run(2, [&](World& world) {
        int x = 0;
        if (world.rank() == 0)
            test::expect_error(ErrorCode::timeout, {"rank 1 has not called anything yet"},
                               [&] { world.group().with(200ms).recv(x, Peer{1}); });
        all_saw.wait();
    });
}

// A group's number comes from its lowest member.
TEST_P(Waiting, ForAGroupThatTheLowestMemberDoesNotMake) {
    Meeting all_saw(3);
    WorldOptions options = test_options(GetParam());
    options.timeout = 700ms;
    run_ranks(
        3,
        [&](World& world) {
            int x = 0;
            if (world.rank() == 0) {
                // It waits for one that makes a group and does not come out of it.
                test::expect_error(
                    ErrorCode::timeout,
                    {"rank 2 is making group \"two\" of ranks 0,2, which needs rank 0 for 0."},
                    [&] { world.group().with(300ms).recv(x, Peer{2}); });
            } else if (world.rank() == 2) {
                test::expect_error(ErrorCode::timeout,
                                   {"making group \"two\" of ranks 0,2, which needs rank 0: rank 2 "
                                    "waited 0.7 s; rank 0 is in user code for 0."},
                                   [&] { static_cast<void>(world.group({0, 2}, "two")); });
            }
            all_saw.wait();
        },
        options);
}

// In the group's own timeout there is time for one warning: it is said once.
TEST_P(Waiting, WarnsOnceWhenPatienceEnds) {
    std::ostringstream text;
    const auto logger = std::make_shared<spdlog::logger>(
        "trireme", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
    spdlog::register_logger(logger);
    run(2, [](World& world) {
        const Group patient = world.group({0, 1}, "patient");
        GroupOptions options("impatient");
        options.patience = 300ms;
        const Group impatient = world.group({0, 1}, options);
        if (world.rank() == 1) std::this_thread::sleep_for(1s);
        patient.barrier();
        if (world.rank() == 1) std::this_thread::sleep_for(1s);
        impatient.barrier();
    });
    spdlog::drop("trireme");
    const std::string said = text.str();
    EXPECT_THAT(said, AllOf(HasSubstr("barrier #1 "), HasSubstr("on group \"impatient\": rank 0"),
                            HasSubstr("for rank 1"), HasSubstr("rank 1 is in user code for")));
    EXPECT_EQ(said.find("rank 0 waited"), said.rfind("rank 0 waited")) << said;
}

TEST_P(Waiting, AMismatchShowsBothCallSites) {
    Meeting all_saw(2);
    run(2, [&](World& world) {
        const Group group = world.group();
        std::vector<float> x(4);
        std::vector<float> y(8);
        constexpr unsigned reduced = __LINE__ + 4;
        constexpr unsigned gathered = __LINE__ + 5;
        const auto call = [&] {
            if (world.rank() == 0)
                group.all_reduce(x);
            else
                group.all_gather(x, y);
        };
        test::expect_error(ErrorCode::mismatch,
                           {" #1 on group \"world\": rank ",
                            "rank 0 called all_reduce #1 float32[4] sum " + site(reduced),
                            "rank 1 called all_gather #1 float32[4] " + site(gathered)},
                           call);
        all_saw.wait();
    });
}

INSTANTIATE_TEST_SUITE_P(Each, Waiting, testing::Values(Transport::automatic, Transport::tcp),
                         [](const auto& tested) {
                             return tested.param == Transport::tcp ? "tcp" : "shm";
                         });

}  // namespace
}  // namespace trireme
