// `trireme bench` as a user runs it; its figures are not looked at, only that they are there.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "launcher/launcher.h"
#include "support/temp_dir.h"

namespace trireme::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr auto bench_patience =
    200s;  // three numbers of ranks, under a sanitizer, on a busy machine

/// The results go into `folder`.
std::vector<std::string> bench_call(const TempDir& folder, std::vector<std::string> words,
                                    const std::string& turns = "1",
                                    const std::string& turn_seconds = "0.001") {
    std::vector<std::string> call{"bench", "--turn-seconds", turn_seconds,         "--turns",
                                  turns,   "--json",         folder / "bench.json"};
    call.insert(call.end(), words.begin(), words.end());
    return call;
}

nlohmann::json rows_in(const TempDir& folder) {
    return nlohmann::json::parse(std::ifstream(folder / "bench.json")).at("rows");
}

void expect_right(const nlohmann::json& row) {
    EXPECT_EQ(row["wrong"], 0) << row;
    EXPECT_GT(row["ours_us"], 0) << row;
    EXPECT_LE(row["min_us"], row["ours_us"]) << row;
    EXPECT_LE(row["ours_us"], row["p90_us"]) << row;
    EXPECT_EQ(row["buffers"], "user") << row;
}

TEST(Bench, ChecksEveryOperation) {
    const TempDir folder;
    Launcher bench(bench_call(
        folder, {"all", "-n", "1,2,3", "--sizes", "8,1K,40K", "--in-place", "--out-of-place"}));
    ASSERT_EQ(bench.wait(bench_patience), 0) << bench.out() << bench.err();
    EXPECT_TRUE(bench.leaves_nobody());
    // Twelve operations, of which two need a second rank and one has no sizes; three have two
    // forms.
    const std::size_t collectives = 9 * 3 + 1 + 3 * 3;
    const nlohmann::json rows = rows_in(folder);
    EXPECT_EQ(rows.size(), 3 * collectives + 2 * 2 * 3);
    std::set<std::string> operations;
    for (const auto& row : rows) {
        expect_right(row);
        EXPECT_TRUE(row["peers"].empty()) << row;
        EXPECT_TRUE(row["ratio"].is_null()) << row;
        operations.insert(row["op"]);
    }
    EXPECT_EQ(operations.size(), 12U);
    EXPECT_EQ(count(bench.out(), "all_reduce, 3 ranks"), 1U);
}

TEST(Bench, ChecksElementTypesAndReductions) {
    for (const std::string type :
         {"float64", "bfloat16", "float16", "int8", "uint8", "int32", "int64"}) {
        for (const std::string op : {"prod", "min", "avg"}) {
            if (op == "avg" && type.find("int") != std::string::npos) continue;
            const TempDir folder;
            Launcher bench(bench_call(folder, {"all_reduce", "reduce_scatter", "scan", "-n", "3",
                                               "--sizes", "8,5000", "--dtype", type, "--op", op}));
            EXPECT_EQ(bench.wait(bench_patience), 0) << bench.out() << bench.err();
            for (const auto& row : rows_in(folder)) {
                expect_right(row);
                EXPECT_EQ(row["dtype"], type);
                EXPECT_EQ(row["reduce"], op);
            }
        }
    }
}

TEST(Bench, TakesAsManyTimesAsAskedFor) {
    const TempDir folder;
    Launcher bench(bench_call(folder,
                              {"barrier", "all_gather", "-n", "2", "--sizes", "64K", "--iterations",
                               "7", "--warmup", "3", "--check", "0"},
                              "2"));
    ASSERT_EQ(bench.wait(bench_patience), 0) << bench.err();
    const nlohmann::json rows = rows_in(folder);
    ASSERT_EQ(rows.size(), 2U);
    for (const auto& row : rows) {
        EXPECT_EQ(row["samples"], 14) << row;
        EXPECT_TRUE(row["wrong"].is_null()) << row;
    }
    EXPECT_EQ(rows[0]["bytes"], 0);
    EXPECT_EQ(rows[1]["bytes"], 65536);
    EXPECT_EQ(rows[1]["count"], 8192);  // a rank's part
}

TEST(Bench, MakesItsPageWithTheLimits) {
    const TempDir folder;
    Launcher bench(bench_call(
        folder, {"all_reduce", "-n", "2", "--sizes", "8,1K", "--html", folder / "bench.html"}));
    ASSERT_EQ(bench.wait(bench_patience), 0) << bench.err();
    const auto report = nlohmann::json::parse(std::ifstream(folder / "bench.json"));
    EXPECT_TRUE(report["limits"].contains("cores")) << report["limits"];
    std::ifstream file(folder / "bench.html");
    const std::string page((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(page, AllOf(HasSubstr("<html"), HasSubstr("all_reduce")));
}

TEST(Bench, RefusesWhatItCannotDo) {
    const auto refusal = [](std::vector<std::string> words) {
        words.insert(words.begin(), "bench");
        Launcher bench(words);
        EXPECT_EQ(bench.wait(bench_patience), 2);
        EXPECT_EQ(bench.out(), "");
        return bench.err();
    };
    EXPECT_THAT(refusal({"all_reverse"}), HasSubstr("no operation is called \"all_reverse\""));
    EXPECT_THAT(refusal({}), HasSubstr("operation is required"));
    EXPECT_THAT(refusal({"barrier", "--sizes", "1T"}), HasSubstr("\"1T\" is no size"));
    EXPECT_THAT(refusal({"barrier", "--sizes", "99999999999999999999"}), HasSubstr("is no size"));
    EXPECT_THAT(refusal({"barrier", "--dtype", "int4"}), HasSubstr("int4 is none of float32"));
    EXPECT_THAT(refusal({"scan", "--op", "avg", "--dtype", "int8"}), HasSubstr("--op avg"));
    EXPECT_THAT(refusal({"barrier", "--iterations", "0"}), HasSubstr("--iterations: \"0\""));
    EXPECT_THAT(refusal({"barrier", "-n", "3", "--hosts", "2"}), HasSubstr("-n 3"));
    EXPECT_THAT(refusal({"barrier", "--peers", "nccl"}), HasSubstr("nccl"));
    EXPECT_THAT(refusal({"barrier", "-n", "0"}), HasSubstr("--ranks"));
}

/// The processes of Trireme's ranks that measure: they are alike, so any of them does.
std::vector<pid_t> contestants_of(const Launcher& bench) {
    std::vector<pid_t> found;
    for (const pid_t pid : bench.survivors()) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        if (text.find("--contestant") != std::string::npos) found.push_back(pid);
    }
    return found;
}

/// Sends a signal to a rank while two of them measure for long; three follow.
void signal_a_rank(Launcher& bench, int number) {
    ASSERT_TRUE(bench.prints("busbw")) << bench.err();  // the heading: the contestants are there
    const std::vector<pid_t> ranks = contestants_of(bench);
    ASSERT_EQ(ranks.size(), 2U);
    ::kill(ranks.back(), number);
}

TEST(Bench, NamesAContestantThatDies) {
    const TempDir folder;
    Launcher bench(bench_call(folder, {"all_reduce", "-n", "2,3", "--sizes", "8,8"}, "20", "0.1"));
    signal_a_rank(bench, SIGKILL);
    EXPECT_EQ(bench.wait(bench_patience), 1);
    EXPECT_THAT(bench.err(), HasSubstr("trireme is out, with 2 ranks: rank "));
    EXPECT_TRUE(bench.leaves_nobody());
    // What comes after it goes on.
    const nlohmann::json rows = rows_in(folder);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_TRUE(rows[1]["ours_us"].is_null());
    EXPECT_THAT(rows[1]["left_out"]["trireme"].get<std::string>(), HasSubstr("rank "));
    expect_right(rows[2]);
    expect_right(rows[3]);
}

TEST(Bench, GivesUpAContestantThatHangs) {
    const TempDir folder;
    Launcher bench(bench_call(
        folder, {"all_reduce", "-n", "2", "--sizes", "8,8", "--limit-seconds", "2"}, "20", "0.1"));
    signal_a_rank(bench, SIGSTOP);
    EXPECT_EQ(bench.wait(bench_patience), 1);
    EXPECT_THAT(bench.err(), HasSubstr("trireme is out, with 2 ranks: rank "));
    EXPECT_TRUE(bench.leaves_nobody());
}

TEST(Bench, LeavesNothingBehindWhenItIsKilled) {
    const TempDir folder;
    Launcher bench(bench_call(folder, {"all_reduce", "-n", "2", "--sizes", "8"}, "1000", "1"));
    ASSERT_TRUE(bench.prints("busbw")) << bench.err();
    const std::vector<pid_t> ranks = contestants_of(bench);
    ASSERT_FALSE(ranks.empty());
    std::ifstream file("/proc/" + std::to_string(ranks.front()) + "/environ");
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    const std::string name = "TRIREME_BENCH_SOCKET=";
    const std::size_t at = environment.find(name);
    ASSERT_NE(at, std::string::npos);
    const std::filesystem::path socket(environment.c_str() + at + name.size());
    ASSERT_TRUE(std::filesystem::exists(socket));

    bench.signal(SIGKILL);
    EXPECT_EQ(bench.wait(bench_patience), -SIGKILL);
    EXPECT_TRUE(eventually([&] { return bench.survivors().empty(); }));
    EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

bool has_peer(const std::string& name) {
    return std::filesystem::exists(std::string(TRIREME_BIN_DIR) + "/../bench-peers/" + name);
}

TEST(Bench, SaysWhatAPeerNeeds) {
    if (has_peer("mpich")) GTEST_SKIP() << "it is there";
    Launcher bench({"bench", "barrier", "--peers", "mpich"});
    EXPECT_EQ(bench.wait(bench_patience), 2);
    EXPECT_THAT(bench.err(), AllOf(HasSubstr("mpich"), HasSubstr("libmpich-dev")));
}

class BenchPeer : public testing::TestWithParam<std::string> {};

TEST_P(BenchPeer, IsRightInEveryOperation) {
    if (!has_peer(GetParam())) GTEST_SKIP() << GetParam() << " was not found when this was built";
    const TempDir folder;
    Launcher bench(
        bench_call(folder, {"all", "-n", "2", "--sizes", "8,40K", "--peers", GetParam()}));
    ASSERT_EQ(bench.wait(bench_patience), 0) << bench.out() << bench.err();
    EXPECT_TRUE(bench.leaves_nobody());
    const nlohmann::json rows = rows_in(folder);
    EXPECT_EQ(rows.size(), 11U * 2 + 1);
    for (const auto& row : rows) {
        expect_right(row);
        EXPECT_FALSE(row.contains("peers_wrong")) << row;
        if (GetParam() == "gloo" && row["op"] == "scan") {
            EXPECT_EQ(row["left_out"]["gloo"], "Gloo has no scan");
            continue;
        }
        EXPECT_FALSE(row.contains("left_out")) << row;
        ASSERT_TRUE(row["peers"].contains(GetParam())) << row;
        const double peer = row["peers"][GetParam()];
        EXPECT_DOUBLE_EQ(row["ratio"], peer / row["ours_us"].get<double>());
    }
}

INSTANTIATE_TEST_SUITE_P(Each, BenchPeer, testing::Values("openmpi", "mpich", "gloo"),
                         [](const auto& peer) { return peer.param; });

}  // namespace
}  // namespace trireme::test
