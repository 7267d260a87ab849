// Signals to the launcher (C40).

#include "launcher.h"

namespace trireme::test {
namespace {

constexpr const char* loop = "echo ready; while :; do sleep 1; done";

TEST(Cases, C40_TermIsForwarded) {
    Launcher trireme(
        run_shell({"-n", "3"}, std::string("trap 'echo got TERM; exit 0' TERM; ") + loop));
    ASSERT_TRUE(trireme.prints("ready", 3));
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_EQ(count(trireme.out(), "got TERM"), 3U);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Cases, C40_IntIsForwarded) {
    Launcher trireme(
        run_shell({"-n", "3"}, std::string("trap 'echo got INT; exit 0' INT; ") + loop));
    ASSERT_TRUE(trireme.prints("ready", 3));
    trireme.signal(SIGINT);
    EXPECT_EQ(trireme.wait(), 130);
    EXPECT_EQ(count(trireme.out(), "got INT"), 3U);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Cases, C40_IntTwiceKillsAtOnce) {
    Launcher trireme(run_shell({"-n", "3", "--grace", "1000"},
                               "trap 'echo got INT' INT; trap '' TERM; setsid sleep 1000 & "
                               "echo ready; while :; do sleep 1; done"));
    ASSERT_TRUE(trireme.prints("ready", 3));
    trireme.signal(SIGINT);
    ASSERT_TRUE(trireme.prints("got INT", 3));
    trireme.signal(SIGINT);
    EXPECT_EQ(trireme.wait(), 130);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Cases, C40_WhoIgnoresTermIsKilledAfterTheGraceTime) {
    Launcher trireme(
        run_shell({"-n", "3", "--grace", "0.5"}, std::string("trap '' TERM; ") + loop));
    ASSERT_TRUE(trireme.prints("ready", 3));
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Signals, StoppedRanksGoToo) {
    Launcher trireme(
        run_shell({"-n", "2", "--grace", "0.5"}, "echo ready; kill -STOP $$; sleep 1000"));
    ASSERT_TRUE(trireme.prints("ready", 2));
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Cases, C40_RanksOfAKilledLauncherAreGone) {
    // Sleepers in the rank's group, in sessions of their own, orphans, and who ignores TERM.
    Launcher trireme(run_shell({"-n", "3"},
                               "trap '' TERM; sleep 1000 & setsid sleep 1000 & "
                               "(setsid sh -c 'sleep 1000 & exit 0'); sleep 0.3; "
                               "echo ready; while :; do sleep 1; done"));
    ASSERT_TRUE(trireme.prints("ready", 3));
    trireme.signal(SIGKILL);
    EXPECT_EQ(trireme.wait(), -SIGKILL);
    EXPECT_TRUE(trireme.leaves_nobody(5s));
}

TEST(Signals, UserSignalsGoToTheRanks) {
    Launcher trireme(run_shell({"-n", "2"},
                               "trap 'echo got USR1; exit 0' USR1; echo ready; "
                               "while :; do sleep 0.1; done"));
    ASSERT_TRUE(trireme.prints("ready", 2));
    trireme.signal(SIGUSR1);
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(count(trireme.out(), "got USR1"), 2U);
}

TEST(Signals, HangupEndsTheJobUnlessIgnored) {
    Launcher trireme(run_shell({"-n", "2"}, loop));
    ASSERT_TRUE(trireme.prints("ready", 2));
    trireme.signal(SIGHUP);
    EXPECT_EQ(trireme.wait(), 129);

    Launcher kept({"-c", std::string("trap '' HUP; exec ") + TRIREME_PROGRAM +
                             " run -n 2 sh -c 'echo ready; sleep 1'"},
                  {.environment = {}, .program = "/bin/sh"});
    ASSERT_TRUE(kept.prints("ready", 2));
    kept.signal(SIGHUP);
    EXPECT_EQ(kept.wait(), 0);
}

TEST(Signals, SuspendStopsTheRanksUntilContinued) {
    Launcher trireme(run_shell({"-n", "2"}, "echo pid $$; exec sleep 1000"));
    ASSERT_TRUE(trireme.prints("pid", 2));
    pid_t pid = 0;
    for (const std::string& line : lines_of(trireme.out())) {
        std::sscanf(line.c_str(), "[1] pid %d", &pid);
    }
    const auto state = [](pid_t process) {
        std::ifstream file("/proc/" + std::to_string(process) + "/stat");
        std::string number;
        std::string name;
        char letter = '?';
        file >> number >> name >> letter;
        return letter;
    };
    trireme.signal(SIGTSTP);
    // A rank that is a shell could hang in vfork instead, whose child is stopped: hence exec.
    EXPECT_TRUE(eventually([&] { return state(trireme.pid()) == 'T' && state(pid) == 'T'; }))
        << state(trireme.pid()) << state(pid);
    trireme.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return state(trireme.pid()) != 'T' && state(pid) != 'T'; }));
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
}

TEST(Signals, ALauncherUnderALauncherGoesWithItsRanks) {
    Launcher trireme({"run", "-n", "2", "--grace", "1", TRIREME_PROGRAM, "run", "-n", "2", "--",
                      "sh", "-c", loop});
    ASSERT_TRUE(trireme.prints("ready", 4));
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_TRUE(trireme.leaves_nobody());
}

}  // namespace
}  // namespace trireme::test
