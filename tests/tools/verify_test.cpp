// `trireme verify` and train_text as a user runs them: ranks are processes with torch.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "launcher/launcher.h"
#include "support/temp_dir.h"

namespace trireme::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Eight processes that load torch at once, on a busy machine, under a sanitizer.
constexpr auto long_patience = 200s;

struct Layout {
    int tp, pp, dp;
    std::string transport;
};

void PrintTo(const Layout& layout, std::ostream* out) {
    *out << "tp " << layout.tp << " pp " << layout.pp << " dp " << layout.dp << ' '
         << layout.transport;
}

std::vector<std::string> arguments(const Layout& layout) {
    return {"verify",
            "--tp",
            std::to_string(layout.tp),
            "--pp",
            std::to_string(layout.pp),
            "--dp",
            std::to_string(layout.dp),
            "--transport",
            layout.transport};
}

class Verify : public testing::TestWithParam<Layout> {};

TEST_P(Verify, PassesAllItsChecks) {
    const TempDir folder;
    std::vector<std::string> call = arguments(GetParam());
    call.insert(call.end(), {"--json", folder / "verify.json", "--log-dir", folder / "logs"});
    Launcher verify(call);
    EXPECT_EQ(verify.wait(long_patience), 0) << verify.out() << verify.err();
    EXPECT_THAT(verify.out(), EndsWith("11 passed, 0 failed\n"));
    EXPECT_TRUE(verify.leaves_nobody());

    const auto report = nlohmann::json::parse(std::ifstream(folder / "verify.json"));
    EXPECT_EQ(report["passed"], 11);
    EXPECT_EQ(report["failed"], 0);
    ASSERT_EQ(report["checks"].size(), 11U);
    for (const auto& check : report["checks"]) {
        EXPECT_TRUE(check["passed"]) << check;
        EXPECT_LT(check["max_error"], 1e-3) << check;
    }
    for (int rank = 0; rank < GetParam().tp * GetParam().pp * GetParam().dp; ++rank)
        EXPECT_TRUE(std::ifstream(folder / ("logs/rank-" + std::to_string(rank) + ".log")).good());
}

INSTANTIATE_TEST_SUITE_P(Each, Verify,
                         testing::Values(Layout{1, 1, 1, "auto"}, Layout{2, 1, 1, "auto"},
                                         Layout{1, 4, 1, "shm"}, Layout{4, 2, 1, "shm"},
                                         Layout{2, 2, 2, "tcp"}, Layout{1, 1, 7, "tcp"}),
                         [](const auto& layout) {
                             const Layout& l = layout.param;
                             return "tp" + std::to_string(l.tp) + "pp" + std::to_string(l.pp) +
                                    "dp" + std::to_string(l.dp) + l.transport;
                         });

// Any rank's error must make the whole check fail.
TEST(Verify, FailsWhereOneRankIsWrong) {
    Launcher verify({"verify", "--world", "4", "--spoil-rank", "3"});
    EXPECT_EQ(verify.wait(long_patience), 1);
    EXPECT_THAT(verify.out(), EndsWith(" failed\n"));
    EXPECT_THAT(verify.out(), testing::Not(HasSubstr(", 0 failed")));
    EXPECT_THAT(verify.err(), HasSubstr("rank 3: "));
}

TEST(Verify, RefusesWhatDoesNotFit) {
    const auto refusal = [](std::vector<std::string> options) {
        options.insert(options.begin(), "verify");
        Launcher verify(options);
        EXPECT_EQ(verify.wait(long_patience), 2);
        return verify.err();
    };
    EXPECT_THAT(refusal({"--world", "8", "--tp", "3"}),
                HasSubstr("tp 3 makes 3 ranks or a multiple, but there are 8"));
    EXPECT_THAT(refusal({"--world", "8", "--tp", "2", "--pp", "2", "--dp", "3"}),
                HasSubstr("tp 2 x pp 2 x dp 3 makes 12 ranks, but there are 8"));
    EXPECT_THAT(refusal({"--tp", "4", "--intermediate", "30"}), HasSubstr("30 does not divide"));
    EXPECT_THAT(refusal({"--pp", "3", "--layers", "4"}), HasSubstr("4 does not divide into pp 3"));
    EXPECT_THAT(refusal({"--device", "cuda"}), HasSubstr("--device cuda"));
}

// The process of a rank, by its environment.
pid_t process_of(const Launcher& job, int rank) {
    const std::string mark = '\0' + ("RANK=" + std::to_string(rank)) + '\0';
    for (const pid_t pid : job.survivors()) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        if (('\0' + text).find(mark) != std::string::npos) return pid;
    }
    return -1;
}

TEST(Verify, NamesAKilledRankSoon) {
    const TempDir folder;
    // Large enough to be at work for minutes.
    Launcher verify({"verify", "--world", "4", "--layers", "64", "--hidden", "512",
                     "--intermediate", "2048", "--batch", "64", "--log-dir", folder / "logs"});
    const auto at_work = [&] { return std::ifstream(folder / "logs/rank-2.log").good(); };
    ASSERT_TRUE(eventually(at_work, long_patience)) << verify.err();
    std::this_thread::sleep_for(1s);
    const pid_t victim = process_of(verify, 2);
    ASSERT_GT(victim, 0);
    ::kill(victim, SIGKILL);
    EXPECT_EQ(verify.wait(long_patience), 137);
    EXPECT_THAT(verify.err(), HasSubstr("trireme: rank 2 (pid " + std::to_string(victim) +
                                        ") was killed by signal 9 (SIGKILL)"));
    EXPECT_TRUE(verify.leaves_nobody());
}

TEST(TrainText, EachLossIsThatOfOneProcess) {
    Launcher train({"run", "-n", "3", "--no-prefix", "--",
                    std::string(TRIREME_BIN_DIR) + "/train_text", "--steps", "8", "--check"});
    EXPECT_EQ(train.wait(long_patience), 0) << train.out() << train.err();
    EXPECT_TRUE(train.leaves_nobody());
}

}  // namespace
}  // namespace trireme::test
