// What the ranks of a job say when one of them ends: how, as the launcher knows it. The program is
// its own ranks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "launcher.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

using testing::HasSubstr;

int be_rank(const std::string& end) {
    World world = World::from_env();
    world.group().barrier();
    if (world.rank() == 1) {
        std::this_thread::sleep_for(100ms);  // the others wait for it
        if (end == "exits") ::_exit(7);
        if (end == "is killed") std::raise(SIGKILL);
        std::exit(3);  // NOLINT: the World is not destroyed
    }
    try {
        for (;;) world.group().barrier();
    } catch (const Error& error) {
        std::printf("%s: %s\n", name(error.code()), error.what());
        // Those that are left need no launcher to go on.
        if (end == "is killed") std::printf("%d are left\n", world.shrink().size());
    }
    return 0;
}

void expect_said(const std::string& end, const std::string& text, int left) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    for (const char* transport : {"shm", "tcp"}) {
        Launcher job({"run", "-n", "3", "--report-time", "30", "--", self, "rank", end},
                     {.environment = {std::string("TRIREME_TRANSPORT=") + transport,
                                      // A rank that just exits joins none of its threads.
                                      "TSAN_OPTIONS=report_thread_leaks=0"}});
        EXPECT_NE(job.wait(), 0);
        EXPECT_EQ(count(job.out(), "peer_lost: barrier #"), 2U) << job.out() << job.err();
        EXPECT_EQ(count(job.out(), text), 2U) << job.out() << job.err();
        EXPECT_EQ(count(job.out(), "2 are left"), static_cast<std::size_t>(left)) << job.out();
        EXPECT_TRUE(job.leaves_nobody());
    }
}

TEST(Fate, ExitCodesAreInThePeersErrors) { expect_said("exits", "it exited with code 7", 0); }

TEST(Fate, SignalsAreInThePeersErrors) {
    expect_said("is killed", "it was killed by signal 9 (SIGKILL)", 2);
}

TEST(Fate, OfARankThatExitsWithItsWorld) { expect_said("ends", "it exited with code 3", 0); }

}  // namespace
}  // namespace trireme::test

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "rank") return trireme::test::be_rank(argv[2]);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
