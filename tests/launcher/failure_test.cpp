// What happens when a rank fails, or leaves something behind.

#include "launcher.h"

namespace trireme::test {
namespace {

TEST(Failure, ASuccessIsQuiet) {
    Launcher trireme({"run", "-n", "4", "true"});
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(trireme.out(), "");
    EXPECT_EQ(trireme.err(), "");
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Failure, NamesTheRankAndItsExitCode) {
    Launcher trireme(run_shell({"-n", "4"}, "[ $RANK != 2 ] || exit 9; sleep 1000"));
    EXPECT_EQ(trireme.wait(), 9);
    const std::string err = trireme.err();
    EXPECT_NE(err.find("trireme: rank 2 (pid "), std::string::npos) << err;
    EXPECT_NE(err.find(") exited with code 9\n"), std::string::npos) << err;
    EXPECT_EQ(count(err, "<- first failure"), 1U) << err;
    EXPECT_NE(err.find("was stopped by the launcher (SIGTERM)"), std::string::npos) << err;
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Failure, NamesTheSignal) {
    Launcher trireme(run_shell({"-n", "4", "--report-time", "0.1"},
                               "[ $RANK != 3 ] || kill -KILL $$; sleep 1000"));
    EXPECT_EQ(trireme.wait(), 137);
    const std::string err = trireme.err();
    EXPECT_NE(err.find(") was killed by signal 9 (SIGKILL)\n"), std::string::npos) << err;
    EXPECT_NE(err.find("trireme: rank 3 (pid "), std::string::npos) << err;
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Failure, TheFirstToDieIsTheFirstToBlame) {
    // The launcher sleeps while the ranks die, the last one first and half a second apart; it must
    // find out the order afterwards.
    const std::string go = testing::TempDir() + "trireme-go-" + std::to_string(::getpid());
    Launcher trireme(
        run_shell({"-n", "4"},
                  "echo ready; trap '' TERM; while [ ! -e $GO ]; do sleep 0.05; done; "
                  "sleep $(((3 - RANK) / 2)).$(((3 - RANK) % 2 * 5)); exit $((10 + RANK))"),
        {.environment = {"GO=" + go}});
    ASSERT_TRUE(trireme.prints("ready", 4));
    trireme.signal(SIGSTOP);
    std::ofstream(go).put('\n');
    std::this_thread::sleep_for(3s);
    trireme.signal(SIGCONT);
    EXPECT_EQ(trireme.wait(), 13) << trireme.err();
    std::filesystem::remove(go);
}

TEST(Failure, TheOthersMayReportWhatTheySaw) {
    // The default gives two seconds; the report takes about a third of one.
    Launcher trireme(run_shell(
        {"-n", "3"}, "[ $RANK != 0 ] || exit 5; sleep 0.3; echo \"I saw it\"; sleep 1000"));
    EXPECT_EQ(trireme.wait(), 5);
    EXPECT_EQ(count(trireme.out(), "I saw it"), 2U);
}

TEST(Failure, TheReportTimeEnds) {
    Launcher trireme(run_shell({"-n", "2", "--report-time", "0.2"},
                               "[ $RANK != 0 ] || exit 5; sleep 60; echo late"));
    EXPECT_EQ(trireme.wait(30s), 5);
    EXPECT_EQ(trireme.out(), "");
}

TEST(Failure, NobodyWaitsForRanksThatEndByThemselves) {
    Launcher trireme(run_shell({"-n", "3", "--report-time", "1000"}, "exit $((RANK + 1))"));
    const int code = trireme.wait();
    EXPECT_TRUE(code >= 1 && code <= 3) << code;
}

TEST(Failure, WhoIgnoresTermIsKilledAfterTheGraceTime) {
    Launcher trireme(
        run_shell({"-n", "3", "--report-time", "0.1", "--grace", "0.5"},
                  "trap '' TERM; echo ready; while [ $RANK = 1 ] && sleep 0.2; do exit 4; "
                  "done; while :; do sleep 1; done"));
    EXPECT_EQ(trireme.wait(), 4);
    EXPECT_NE(trireme.err().find("was stopped by the launcher (SIGKILL)"), std::string::npos)
        << trireme.err();
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Failure, GrandchildrenGoTooWhateverTheirSession) {
    Launcher trireme(run_shell({"-n", "2", "--report-time", "0.1", "--grace", "0.5"},
                               "sleep 1000 & setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; "
                               "while :; do sleep 1; done' & "
                               "(setsid sh -c 'sleep 1000 & exit 0'); sleep 0.3; echo ready; [ "
                               "$RANK != 1 ] || exit 6; wait"));
    EXPECT_EQ(trireme.wait(), 6);
    EXPECT_EQ(trireme.survivors(), std::vector<pid_t>{});
}

TEST(Failure, WhatASuccessLeavesBehindIsEnded) {
    Launcher trireme(run_shell({"-n", "2"}, "setsid sleep 1000 & exit 0"));
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_NE(trireme.err().find("left behind"), std::string::npos) << trireme.err();
    EXPECT_EQ(trireme.survivors(), std::vector<pid_t>{});
}

TEST(Failure, OthersContinueWhereAsked) {
    Launcher trireme(run_shell({"-n", "3", "--on-failure", "continue", "--report-time", "0"},
                               "[ $RANK != 1 ] || exit 4; sleep 2; echo finished"));
    EXPECT_EQ(trireme.wait(), 4);
    EXPECT_EQ(count(trireme.out(), "finished"), 2U);
    EXPECT_NE(trireme.err().find("exited with code 4"), std::string::npos);
}

TEST(Cases, C40_TermToOneRankIsAFailureOfThatRank) {
    Launcher trireme(
        run_shell({"-n", "3", "--report-time", "0.1"}, "echo pid $$; while :; do sleep 1; done"));
    ASSERT_TRUE(trireme.prints("pid", 3));
    pid_t pid = 0;
    for (const std::string& line : lines_of(trireme.out())) {
        std::sscanf(line.c_str(), "[1] pid %d", &pid);
    }
    ASSERT_GT(pid, 1);
    ::kill(pid, SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_NE(trireme.err().find("trireme: rank 1 (pid " + std::to_string(pid) +
                                 ") was killed by signal 15 (SIGTERM)"),
              std::string::npos)
        << trireme.err();
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Failure, ManyRanks) {
    Launcher trireme(
        run_shell({"-n", "200"}, "echo here; [ $RANK != 150 ] || { sleep 1; exit 3; }"));
    EXPECT_EQ(trireme.wait(120s), 3);
    EXPECT_EQ(count(trireme.out(), "] here\n"), 200U);
    EXPECT_NE(trireme.err().find("0-149"), std::string::npos) << trireme.err();
}

}  // namespace
}  // namespace trireme::test
