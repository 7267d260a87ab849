// Few descriptors and many ranks: a job starts, or says what is needed. The program is its own
// rank.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "launcher/launcher.h"
#include "store/support.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

int be_rank() {
    try {
        WorldOptions options = WorldOptions::from_environment();
        World world = World::from_env(options);
        int number = 1;
        world.group().all_reduce(number);
        std::printf("%d of %d\n", number, world.size());
        return number == world.size() ? 0 : 1;
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Each rank and the launcher end by themselves, not by a signal.
void expect_start_or_reason(const Launcher& job, int code, std::size_t ranks) {
    const std::string text = job.out() + job.err();
    if (code == 0) {
        EXPECT_EQ(count(text, "16 of 16"), ranks) << text;
        return;
    }
    EXPECT_LT(code, 128) << text;
    EXPECT_GE(code, 1) << text;
    EXPECT_EQ(count(text, "terminate"), 0U) << text;
    EXPECT_GE(count(text, "64"), 1U) << text;
    EXPECT_GE(count(text, "ulimit -n"), 1U) << text;
}

TEST(C48, SixteenRanksWithSixtyFourDescriptors) {
    Launcher job({"-c", std::string("ulimit -n 64; exec ") + TRIREME_PROGRAM + " run -n 16 " +
                            own_program() + " rank"},
                 {.environment = {}, .program = "sh"});
    expect_start_or_reason(job, job.wait(), 16);
}

TEST(C48, SixteenRanksOfWhichEachHasSixtyFourDescriptors) {
    for (const char* transport : {"auto", "tcp"}) {
        Launcher job(
            {"run", "-n", "16", "--", "sh", "-c", "ulimit -n 64; exec " + own_program() + " rank"},
            {.environment = {std::string("TRIREME_TRANSPORT=") + transport, "TRIREME_TIMEOUT=30"}});
        expect_start_or_reason(job, job.wait(), 16);
    }
}

TEST(C48, SixteenRanksWithoutALauncherAndWithSixtyFourDescriptors) {
    // Rank 0 holds the store, too.
    const std::string port = std::to_string(TcpStoreServer().port());
    Launcher job(
        {"-c", "ulimit -n 64; for r in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do RANK=$r " +
                   own_program() + " rank & pids=\"$pids $!\"; done; code=0; " +
                   "for p in $pids; do wait $p || code=$?; done; exit $code"},
        {.environment = {"WORLD_SIZE=16", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
                         "TRIREME_TIMEOUT=30", "TRIREME_STORE"},
         .program = "sh"});
    expect_start_or_reason(job, job.wait(90s), 16);
}

TEST(C48, TwoHundredRanksOnOneHost) {
    if (std::getenv("TRIREME_TEST_LARGE") == nullptr) {
        GTEST_SKIP() << "200 ranks: make test-large";
    }
    Launcher job({"run", "-n", "200", own_program(), "rank"});
    const int code = job.wait(300s);
    EXPECT_EQ(code, 0) << job.err();
    EXPECT_EQ(count(job.out(), "200 of 200"), 200U);
}

}  // namespace
}  // namespace trireme::test

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "rank") return trireme::test::be_rank();
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
