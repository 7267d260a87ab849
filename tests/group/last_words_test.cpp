// A rank that an exception ends says so to those that wait for it.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using test::Processes;

constexpr int unlucky = 1;

// As a main function without a handler.
void die_of(const std::function<void()>& main) noexcept { main(); }

// 0 if this rank's call fails because of the unlucky one, with such a text.
int wait_for_it(const World& world, const std::string& text) {
    int x = 0;
    try {
        world.group().all_reduce(x);
        return 1;
    } catch (const Error& error) {
        const std::string said = error.what();
        if ((error.code() == ErrorCode::peer_lost || error.code() == ErrorCode::aborted) &&
            error.ranks() == std::vector{unlucky} && said.find(text) != said.npos)
            return 0;
        std::fprintf(stderr, "rank %d: %s: %s\n", world.rank(), name(error.code()), error.what());
        return 2;
    }
}

class LastWords : public testing::TestWithParam<Transport> {
protected:
    // `die` ends the unlucky rank, whose exit code becomes `end`; the others' errors say `text`.
    static void expect_told(const std::function<void(World)>& die, int end,
                            const std::string& text) {
        const test::TempDir folder;
        Processes ranks(4, [&](int rank) {
            World world =
                World::create(file_store(folder / "store"), rank, 4, test_options(GetParam()));
            if (rank != unlucky) {
                world.store().set(std::to_string(rank), "");
                return wait_for_it(world, text);
            }
            const std::string others[] = {"0", "2", "3"};
            world.store().wait(others, Timeout(60'000));
            const rlimit no_core{0, 0};
            ::setrlimit(RLIMIT_CORE, &no_core);
            die(std::move(world));
            return 0;
        });
        for (const int rank : {0, 2, 3}) EXPECT_EQ(ranks.wait(rank), 0) << rank;
        EXPECT_EQ(ranks.wait(unlucky), end);
    }
};

TEST_P(LastWords, OfAnExceptionThatNobodyCatches) {
    expect_told([](const World&) { die_of([] { throw std::runtime_error("the loss is NaN"); }); },
                -SIGABRT, "rank 1 died of an exception: std::runtime_error: the loss is NaN");
}

TEST_P(LastWords, OfOneThatIsNoStandardException) {
    expect_told([](const World&) { die_of([] { throw 7; }); }, -SIGABRT,
                "rank 1 died of an exception: an exception that is no std::exception");
}

// It is in a call of its own that would never end.
TEST_P(LastWords, AreNotHeldUpForLongByWhatIsUnderWay) {
    expect_told(
        [](World given) {
            try {
                const World world = std::move(given);
                float x = 0;
                auto work = world.group().recv_async(x, Peer{0}, Tag{5});
                throw std::runtime_error("no such file");
            } catch (const std::runtime_error&) {
            }
        },
        0, "rank 1 gave it up because of an exception");
}

TEST_P(LastWords, OfOneThatIsCaughtOutside) {
    expect_told(
        [](World given) {
            try {
                const World world = std::move(given);
                throw std::runtime_error("no such file");
            } catch (const std::runtime_error&) {
            }
        },
        0, "rank 1 has left the world: an exception ended it");
}

TEST_P(LastWords, MayBeChosen) {
    expect_told(
        [](const World& world) {
            try {
                throw std::runtime_error("bad batch");
            } catch (const std::exception& error) {
                world.abort(error.what());
            }
        },
        0, "the world was aborted by rank 1: bad batch");
}

INSTANTIATE_TEST_SUITE_P(Each, LastWords, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& one) {
                             return std::string(one.param == Transport::shm ? "shm" : "tcp");
                         });

}  // namespace
}  // namespace trireme
