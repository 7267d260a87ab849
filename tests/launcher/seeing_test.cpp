// `trireme dump` and `trireme top` look at jobs that hang, part, or work. This program is also what
// the ranks of those jobs run.

#include <gmock/gmock.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "launcher.h"
#include "support/temp_dir.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// --- The ranks -----------------------------------------------------------------------------------

void say(const char* text) {
    std::printf("%s\n", text);
    std::fflush(stdout);
}

[[noreturn]] void stay() {
    for (;;) ::pause();
}

int be_rank(const std::string& role) {
    const World world = World::from_env();
    const Group group = world.group();
    std::vector<float> data(1000, 1);
    group.barrier();
    if (role == "works") {
        say("ready");
        for (;;) group.all_reduce(data);
    }
    if (role == "hangs") {
        say("ready");
        if (world.rank() == 1) stay();
        group.all_reduce(data);
    }
    if (role == "differs") {
        try {
            std::vector<float> more(2000);
            if (world.rank() == 1)
                group.all_reduce(data, max);
            else
                group.all_reduce(data);
        } catch (const Error& error) {
            say(name(error.code()));
        }
        stay();
    }
    return 1;
}

std::vector<std::string> job(const std::string& role, int ranks = 3) {
    return {"run",
            "-n",
            std::to_string(ranks),
            "--",
            std::filesystem::read_symlink("/proc/self/exe").string(),
            "rank",
            role};
}

// --- What is seen --------------------------------------------------------------------------------

std::string out_of(std::vector<std::string> arguments) {
    Launcher command(std::move(arguments));
    EXPECT_EQ(command.wait(), 0) << command.err();
    return command.out();
}

Json json_of(std::vector<std::string> arguments) {
    Json json = Json::parse(out_of(std::move(arguments)), nullptr, false);
    EXPECT_FALSE(json.is_discarded());
    return json;
}

Json see(const Launcher& seen, const std::string& command, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {command, std::to_string(seen.pid()), "--json"});
    return json_of(std::move(more));
}

bool hangs(const Launcher& launched) {
    return eventually([&] {
        const Json world = see(launched, "dump").at("worlds").at(0);
        if (world.at("ranks").size() != 3 || world.at("divergences").empty()) return false;
        const Json& members = world["divergences"][0].at("members");
        return members.at(0).at("come") == true && members.at(2).at("come") == true &&
               world["divergences"][0].at("age_s") > 0.2;
    });
}

TEST(Seeing, DumpNamesTheRankThatHasNotCome) {
    Launcher hanging(job("hangs"));
    ASSERT_TRUE(hanging.prints("ready", 3));
    ASSERT_TRUE(hangs(hanging));
    const Json world = see(hanging, "dump").at("worlds").at(0);
    EXPECT_EQ(world["size"], 3);
    EXPECT_TRUE(world["absent_ranks"].empty());
    const Json& divergence = world["divergences"].at(0);
    EXPECT_EQ(divergence["group"], "world");
    EXPECT_EQ(divergence["kind"], "missing");
    EXPECT_EQ(divergence["sequence"], 2);
    EXPECT_THAT(
        divergence["members"][0]["call"].get<std::string>(),
        testing::MatchesRegex(R"(all_reduce #2 float32\[1000\] sum \(seeing_test.cpp:.*\))"));
    EXPECT_EQ(divergence["members"][1]["come"], false);
    EXPECT_THAT(divergence["members"][1]["doing"].get<std::string>(),
                HasSubstr("is in user code for"));
    const Json& operations = world["ranks"][0]["operations"];
    ASSERT_EQ(operations.size(), 2U);
    EXPECT_EQ(operations[0]["kind"], "barrier");
    EXPECT_EQ(operations[0]["state"], "done");
    EXPECT_EQ(operations[1]["state"], "under way");
    EXPECT_EQ(operations[1]["bytes"], 4000);
    EXPECT_EQ(world["ranks"][1]["operations"].size(), 1U);

    const std::string text = out_of({"dump", std::to_string(hanging.pid())});
    EXPECT_THAT(text, HasSubstr("ranks 0, 2  all_reduce #2 float32[1000] sum (seeing_test.cpp:"));
    EXPECT_THAT(text, HasSubstr("rank 1      has not come: is in user code for "));
    EXPECT_THAT(text, HasSubstr("rank 2: the last 2 of 2 operations\n"));
    EXPECT_THAT(out_of({"dump", "--last", "0", std::to_string(hanging.pid())}),
                Not(HasSubstr("operations\n")));
}

TEST(Seeing, EachRankAndWhatIsAboveItNamesTheJobAndStoppedRanksAreSeen) {
    Launcher hanging(job("hangs"));
    ASSERT_TRUE(hanging.prints("ready", 3));
    ASSERT_TRUE(hangs(hanging));
    const int pid = see(hanging, "dump")["worlds"][0]["ranks"][1]["pid"];
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    EXPECT_TRUE(eventually([&] {
        const Json ranks = json_of({"dump", "--json", std::to_string(pid)})["worlds"][0]["ranks"];
        return ranks.size() == 3 && ranks[1]["state"] == "stopped";
    }));
    EXPECT_EQ(json_of({"dump", "--json", std::to_string(::getpid())})["worlds"].size(), 1U);
    ::kill(pid, SIGCONT);
}

TEST(Seeing, DumpNamesBothCalls) {
    Launcher differing(job("differs"));
    ASSERT_TRUE(differing.prints("mismatch", 3));
    const Json divergence = see(differing, "dump").at("worlds").at(0).at("divergences").at(0);
    EXPECT_EQ(divergence["kind"], "mismatch");
    EXPECT_EQ(divergence["sequence"], 2);
    EXPECT_THAT(divergence["members"][0]["call"].get<std::string>(), HasSubstr("1000] sum ("));
    EXPECT_THAT(divergence["members"][1]["call"].get<std::string>(), HasSubstr("1000] max ("));
    EXPECT_THAT(out_of({"dump", std::to_string(differing.pid())}),
                HasSubstr("parts at its collective #2: the calls differ"));
}

TEST(Seeing, SeveralJobsAreListed) {
    Launcher one(job("hangs"));
    Launcher other(job("hangs"));
    ASSERT_TRUE(one.prints("ready", 3));
    ASSERT_TRUE(other.prints("ready", 3));
    Launcher dump({"dump"});
    EXPECT_EQ(dump.wait(), 2);
    EXPECT_THAT(dump.err(), HasSubstr("several jobs run"));
    EXPECT_THAT(dump.err(), HasSubstr("trireme dump " + std::to_string(one.pid())));
    EXPECT_THAT(dump.err(), HasSubstr("trireme dump " + std::to_string(other.pid())));
    EXPECT_EQ(see(one, "dump")["worlds"].size(), 1U);
}

TEST(Seeing, AFailureLeavesFilesWhichDumpMerges) {
    const TempDir folder;
    std::filesystem::create_directory(folder / "dumps");
    Launcher differing(job("differs"), {.environment = {"TRIREME_DUMP=" + folder / "dumps"}});
    ASSERT_TRUE(differing.prints("mismatch", 3));
    const Json world = json_of({"dump", "--json", "--files", folder / "dumps"}).at("worlds").at(0);
    EXPECT_EQ(world["ranks"].size(), 3U);
    EXPECT_EQ(world["divergences"].at(0)["kind"], "mismatch");
    EXPECT_THAT(world["ranks"][1]["error"].get<std::string>(),
                HasSubstr("these differ in the reduce op"));
    EXPECT_THAT(out_of({"dump", "--files", folder / "dumps"}), HasSubstr("the calls differ"));
}

TEST(Seeing, ASignalMakesEachRankWriteAFile) {
    const TempDir folder;
    std::filesystem::create_directory(folder / "dumps");
    Launcher hanging(job("hangs"), {.environment = {"TRIREME_DUMP=" + folder / "dumps"}});
    ASSERT_TRUE(hanging.prints("ready", 3));
    ASSERT_TRUE(hangs(hanging));
    hanging.signal(SIGUSR2);  // forwarded to the ranks
    const auto files = [&] {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(folder / "dumps"))
            count += entry.path().extension() == ".json" ? 1 : 0;
        return count;
    };
    ASSERT_TRUE(eventually([&] { return files() == 3; }));
    const Json world = json_of({"dump", "--json", "--files", folder / "dumps"}).at("worlds").at(0);
    EXPECT_EQ(world["divergences"].at(0)["members"][1]["come"], false);
    EXPECT_FALSE(world["ranks"][0].contains("error"));
    // It goes on as before, and so often as one likes.
    std::filesystem::remove_all(folder / "dumps");
    std::filesystem::create_directory(folder / "dumps");
    hanging.signal(SIGUSR2);
    EXPECT_TRUE(eventually([&] { return files() == 3; }));
    EXPECT_EQ(hanging.survivors().size(), see(hanging, "dump")["worlds"][0]["ranks"].size() + 2);
}

TEST(Seeing, TopMarksTheStraggler) {
    Launcher hanging(job("hangs"));
    ASSERT_TRUE(hanging.prints("ready", 3));
    ASSERT_TRUE(hangs(hanging));
    const Json ranks =
        see(hanging, "top", {"--once", "--interval", "0.3"}).at("worlds").at(0).at("ranks");
    ASSERT_EQ(ranks.size(), 3U);
    EXPECT_EQ(ranks[1]["straggler"], true);
    EXPECT_THAT(ranks[1]["awaited_by"].get<std::vector<int>>(), ElementsAre(0, 2));
    EXPECT_THAT(ranks[1]["doing"].get<std::string>(), HasSubstr("user code, after barrier #1"));
    EXPECT_EQ(ranks[0]["straggler"], false);
    EXPECT_EQ(ranks[0]["group"], "world");
    EXPECT_GT(ranks[0]["age_s"], 0.2);
    EXPECT_THAT(out_of({"top", "--once", "--interval", "0.1", std::to_string(hanging.pid())}),
                HasSubstr("user code, after barrier #1 (seeing_test.cpp"));
}

TEST(Seeing, TopCountsOperationsAndBytes) {
    Launcher working(job("works", 2));
    ASSERT_TRUE(working.prints("ready", 2));
    const Json world = see(working, "top", {"--once", "--interval", "0.5"}).at("worlds").at(0);
    for (const Json& rank : world["ranks"]) {
        EXPECT_GT(rank["operations_per_second"], 0);
        EXPECT_GT(rank["sent_per_second"], 0);
        EXPECT_GT(rank["received_per_second"], 0);
        EXPECT_EQ(rank["state"], "running");
    }
    ASSERT_EQ(world["links"].size(), 2U);
    EXPECT_GT(world["links"][0]["bytes_per_second"], 0);
}

TEST(Seeing, TopEndsWithTheJob) {
    Launcher working(job("works", 2));
    ASSERT_TRUE(working.prints("ready", 2));
    Launcher top({"top", "--interval", "0.1", std::to_string(working.pid())});
    ASSERT_TRUE(top.prints("all_reduce", 1));
    working.signal(SIGTERM);
    EXPECT_EQ(top.wait(), 0);
    EXPECT_THAT(top.err(), HasSubstr("the job has ended"));
}

TEST(Seeing, HelpAndMistakes) {
    EXPECT_THAT(out_of({"dump", "--help"}), HasSubstr("trireme dump 4711"));
    EXPECT_THAT(out_of({"top", "--help"}), HasSubstr("--interval 0.5"));
    Launcher nobody({"top", "--once", "999999999"});
    EXPECT_EQ(nobody.wait(), 1);
    EXPECT_THAT(nobody.err(), HasSubstr("is no rank"));
    const TempDir folder;
    std::ofstream(folder / "trireme-dump-x.json") << "{\"rank\": [";
    Launcher files({"dump", "--files", folder / "trireme-dump-x.json"});
    EXPECT_EQ(files.wait(), 1);
    EXPECT_THAT(files.err(), HasSubstr("is no dump file"));
    Launcher both({"dump", "1", "--files", "x"});
    EXPECT_EQ(both.wait(), 2);
}

}  // namespace
}  // namespace trireme::test

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "rank") return trireme::test::be_rank(argv[2]);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
