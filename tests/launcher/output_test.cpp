// What becomes of the ranks' lines.

#include <pty.h>

#include <fstream>
#include <map>

#include "launcher.h"

namespace trireme::test {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Output, LinesCarryTheirRank) {
    Launcher trireme(run_shell({"-n", "2"}, "echo out $RANK; echo err $RANK >&2"));
    EXPECT_EQ(trireme.wait(), 0);
    auto out = lines_of(trireme.out());
    std::sort(out.begin(), out.end());
    EXPECT_EQ(out, (std::vector<std::string>{"[0] out 0", "[1] out 1"}));
    auto err = lines_of(trireme.err());
    std::sort(err.begin(), err.end());
    EXPECT_EQ(err, (std::vector<std::string>{"[0] err 0", "[1] err 1"}));
}

TEST(Output, RanksAreAligned) {
    Launcher trireme(run_shell({"-n", "11"}, "echo x"));
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(count(trireme.out(), "[ 7] x\n"), 1U);
    EXPECT_EQ(count(trireme.out(), "[10] x\n"), 1U);
}

// C42: eight workers, 10,000 lines of 200 bytes each, a last line without an end, then abort.
TEST(Cases, C42_ManyLinesNeverMixAndTheLastOnesArrive) {
    Launcher trireme(run_shell(
        {"-n", "8", "--on-failure", "continue"},
        "awk -v r=$RANK 'BEGIN { for (i = 0; i < 10000; i++) "
        "{ line = sprintf(\"rank %d line %d \", r, i); "
        "while (length(line) < 199) line = line \"abcdefghij\"; print substr(line, 1, 199) } }'; "
        "printf 'last words of %d' $RANK; kill -ABRT $$"));
    EXPECT_EQ(trireme.wait(120s), 134);
    std::map<int, int> next;
    std::map<int, bool> ended;
    for (const std::string& line : lines_of(trireme.out())) {
        int prefix = -1;
        int rank = -1;
        int number = -1;
        if (std::sscanf(line.c_str(), "[%d] rank %d line %d ", &prefix, &rank, &number) == 3) {
            ASSERT_EQ(prefix, rank) << line;
            ASSERT_EQ(number, next[rank]++) << line;
            ASSERT_EQ(line.size(), 199U + 4U) << line;
        } else {
            ASSERT_EQ(std::sscanf(line.c_str(), "[%d] last words of %d", &prefix, &rank), 2)
                << line;
            ASSERT_EQ(prefix, rank);
            ASSERT_EQ(next[rank], 10000) << "last words before the last line";
            ended[rank] = true;
        }
    }
    EXPECT_EQ(ended.size(), 8U);
}

TEST(Output, WhatARankSaidComesBeforeTheNewsOfItsEnd) {
    Launcher trireme(run_shell({"-n", "1"}, "echo one >&2; printf two >&2; exit 3"));
    EXPECT_EQ(trireme.wait(), 3);
    const auto err = lines_of(trireme.err());
    ASSERT_GE(err.size(), 3U);
    EXPECT_EQ(err[0], "[0] one");
    EXPECT_EQ(err[1], "[0] two");
    EXPECT_NE(err[2].find("rank 0"), std::string::npos);
}

TEST(Output, LongLinesAreCutAndMarked) {
    Launcher trireme(
        run_shell({"-n", "1"}, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo y"));
    EXPECT_EQ(trireme.wait(), 0);
    const auto lines = lines_of(trireme.out());
    ASSERT_GT(lines.size(), 10U);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        EXPECT_EQ(lines[i].substr(0, 4), i == 0 ? "[0] " : "[0]+");
        bytes += lines[i].size() - 4;
    }
    EXPECT_EQ(bytes, 1'000'000U);
    EXPECT_EQ(lines.back(), "[0] y");
}

TEST(Output, ProgressBarsBecomeFewLines) {
    Launcher trireme(run_shell(
        {"-n", "1"},
        "for i in 1 2 3 4 5 6 7 8 9; do printf '\\r%d0%%' $i; done; printf '\\r100%%\\n'"));
    EXPECT_EQ(trireme.wait(), 0);
    const auto lines = lines_of(trireme.out());
    ASSERT_GE(lines.size(), 2U);
    EXPECT_EQ(lines.front(), "[0] 10%");
    EXPECT_EQ(lines.back(), "[0] 100%");
    EXPECT_LT(lines.size(), 9U);
    EXPECT_EQ(trireme.out().find('\r'), std::string::npos);
}

TEST(Output, PrefixesCanBeLeftOut) {
    Launcher trireme(run_shell({"-n", "2", "--no-prefix"}, "echo x; printf y"));
    EXPECT_EQ(trireme.wait(), 0);
    auto lines = lines_of(trireme.out());
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, (std::vector<std::string>{"x", "x", "y", "y"}));
}

TEST(Output, LogsHoldTheRawBytes) {
    const std::string folder =
        testing::TempDir() + "trireme-logs-" + std::to_string(::getpid()) + "/deep";
    Launcher trireme(run_shell({"-n", "2", "--log-dir", folder},
                               "printf 'a\\rb\\n'; echo e >&2; sleep 0.1; printf $RANK"));
    EXPECT_EQ(trireme.wait(), 0) << trireme.err();
    for (const std::string rank : {"0", "1"}) {
        const std::string log = read_file(folder + "/rank-" + rank + ".log");
        EXPECT_EQ(log.size(), 7U) << log;
        EXPECT_NE(log.find("a\rb\n"), std::string::npos);
        EXPECT_NE(log.find("e\n"), std::string::npos);
        EXPECT_EQ(log.back(), rank.front());
    }
    std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
}

TEST(Output, ALogThatCannotBeWrittenIsAnErrorAtOnce) {
    Launcher trireme(run_shell({"-n", "2", "--log-dir", "/proc/nowhere"}, "echo x"));
    EXPECT_EQ(trireme.wait(), 1);
    EXPECT_NE(trireme.err().find("/proc/nowhere/rank-0.log"), std::string::npos);
    EXPECT_TRUE(trireme.leaves_nobody());
}

// What a terminal would show of a run with these options and variables.
std::string shown_on_terminal(const std::vector<std::string>& options,
                              std::vector<std::string> environment) {
    int terminal = -1;
    int side = -1;
    if (::openpty(&terminal, &side, nullptr, nullptr, nullptr) != 0) {
        return "no terminal";
    }
    environment.emplace_back("TERM=xterm");
    Launcher trireme(run_shell(options, "echo x"), {.environment = environment, .out = side});
    ::close(side);
    EXPECT_EQ(trireme.wait(), 0);
    char buffer[4096];
    const ssize_t n = ::read(terminal, buffer, sizeof buffer);
    ::close(terminal);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
}

TEST(Output, TerminalsGetColoursUnlessUnwanted) {
    EXPECT_EQ(shown_on_terminal({"-n", "1"}, {}), "\x1b[36m[0]\x1b[0m x\r\n");
    EXPECT_EQ(shown_on_terminal({"-n", "1", "--no-color"}, {}), "[0] x\r\n");
    EXPECT_EQ(shown_on_terminal({"-n", "1"}, {"NO_COLOR=1"}), "[0] x\r\n");
}

TEST(Output, AReaderWhoLeavesEndsTheJob) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launcher trireme(run_shell({"-n", "2"}, "while :; do echo x; sleep 0.05; done"),
                     {.environment = {}, .out = ends[1]});
    ::close(ends[1]);
    ::close(ends[0]);
    EXPECT_EQ(trireme.wait(), 128 + SIGPIPE);
    EXPECT_TRUE(trireme.leaves_nobody());
}

TEST(Output, AReaderWhoSleepsDoesNotKeepTheLauncherFromSignals) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launcher trireme(run_shell({"-n", "2", "--grace", "1"}, "exec yes"),
                     {.environment = {}, .out = ends[1]});
    ::close(ends[1]);
    std::this_thread::sleep_for(1s);  // until all buffers are full; shorter tests less, not wrong
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_TRUE(trireme.leaves_nobody());
    ::close(ends[0]);
}

}  // namespace
}  // namespace trireme::test
