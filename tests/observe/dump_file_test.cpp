// The files that ranks write on a signal, and when a group fails.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "core/dump_signal.h"
#include "observe/rank_report.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

/// By world, then rank.
std::map<std::string, std::map<int, RankReport>> dumps_in(const std::string& folder) {
    std::map<std::string, std::map<int, RankReport>> dumps;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;
        std::ifstream file(entry.path());
        const RankReport report = parse_report({std::istreambuf_iterator<char>(file), {}});
        dumps[report.world][report.rank] = report;
    }
    return dumps;
}

bool comes(const std::string& folder, std::size_t worlds, std::size_t ranks) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < end) {
        const auto dumps = dumps_in(folder);
        if (dumps.size() == worlds && std::ranges::all_of(dumps, [&](const auto& world) {
                return world.second.size() == ranks;
            }))
            return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

WorldOptions options_with(const std::string& folder) {
    fs::create_directory(folder);
    WorldOptions options = test_options();
    options.dump = folder;
    return options;
}

TEST(DumpFile, IsWrittenByAllRanksOfAllWorldsOnASignalAndNeverAfterwards) {
    const test::TempDir folder;
    const WorldOptions options = options_with(folder / "dumps");
    const auto store = memory_store();
    run_ranks(
        2,
        [&](World& world) {
            const World second = World::create(store, world.rank(), world.size(), options);
            world.group().barrier();
            if (world.rank() == 0) {
                ::kill(::getpid(), dump_signal);
                EXPECT_TRUE(comes(options.dump, 2, 2));
                fs::remove_all(options.dump);
                fs::create_directory(options.dump);
                ::kill(::getpid(), dump_signal);
                EXPECT_TRUE(comes(options.dump, 2, 2));
            }
            world.group().barrier();
        },
        options);
    fs::remove_all(options.dump);
    fs::create_directory(options.dump);
    ::kill(::getpid(), dump_signal);  // does not end the process
    // Nor is it answered by a world that begins later.
    run_ranks(2, [&](World& world) { world.group().barrier(); }, options);
    EXPECT_TRUE(fs::is_empty(options.dump));
}

TEST(DumpFile, IsWrittenAtTheFirstFailure) {
    const test::TempDir folder;
    const WorldOptions options = options_with(folder / "dumps");
    run_ranks(
        2,
        [&](World& world) {
            int x = 0;
            const Group other = world.group({0, 1});
            EXPECT_THROW(world.group().all_reduce(x, world.rank() == 0 ? max : min), Error);
            other.barrier();
            // Another one, of which nothing more is written.
            EXPECT_THROW(other.with(100ms).recv(x, Peer{1 - world.rank()}), Error);
        },
        options);
    const auto dumps = dumps_in(options.dump);
    ASSERT_EQ(dumps.size(), 1U);
    ASSERT_EQ(dumps.begin()->second.size(), 2U);
    for (const auto& [rank, report] : dumps.begin()->second) {
        EXPECT_THAT(report.error, HasSubstr("these differ in the reduce op"));
        ASSERT_FALSE(report.operations.empty());
        EXPECT_THAT(report.operations.front().call, HasSubstr("all_reduce #1"));
    }
}

TEST(DumpFile, IsNotWrittenForWhatTheProgramWants) {
    const test::TempDir folder;
    const WorldOptions options = options_with(folder / "dumps");
    run_ranks(
        2,
        [&](World& world) {
            world.group().barrier();
            if (world.rank() == 0) world.group().abort("enough");
        },
        options);
    EXPECT_TRUE(fs::is_empty(options.dump));
}

TEST(DumpFile, AFolderThatIsNotThereHurtsNobody) {
    WorldOptions options = test_options();
    options.dump = "/nowhere/at/all";
    run_ranks(
        2,
        [&](World& world) {
            int x = 0;
            if (world.rank() != 0) return;
            EXPECT_THROW(world.group().with(50ms).all_reduce(x), Error);
        },
        options);
}

std::atomic<int> own_calls{0};

TEST(DumpSignal, AHandlerOfTheProgramIsLeftAlone) {
    struct sigaction own{};
    struct sigaction before{};
    own.sa_handler = [](int) { ++own_calls; };
    ASSERT_EQ(::sigaction(dump_signal, &own, &before), 0);
    const test::TempDir folder;
    const WorldOptions options = options_with(folder / "dumps");
    run_ranks(
        2,
        [&](World& world) {
            world.group().barrier();
            if (world.rank() == 0) ::raise(dump_signal);
            world.group().barrier();
        },
        options);
    EXPECT_EQ(own_calls, 1);
    EXPECT_TRUE(fs::is_empty(options.dump));
    ASSERT_EQ(::sigaction(dump_signal, &before, nullptr), 0);
}

}  // namespace
}  // namespace trireme
