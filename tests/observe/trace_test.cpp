// Traces: put together by hand, and of a real job.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "observe/clock_exchange.h"
#include "observe/collector.h"
#include "observe/recorder.h"
#include "observe/trace_files.h"
#include "observe/trace_merge.h"
#include "support/expect_error.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using nlohmann::json;
using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ClockOffset, TheQuickestExchangeCounts) {
    // The other clock is 1,000 ahead; the second exchange waited on its way there.
    const std::vector<ClockSample> samples{
        {.sent = 100, .there = 1'150, .received = 200},
        {.sent = 300, .there = 1'890, .received = 900},
        {.sent = 1'000, .there = 2'012, .received = 1'020},
    };
    const auto offset = estimate_offset(samples);
    ASSERT_TRUE(offset);
    EXPECT_EQ(offset->at, 1'010);
    EXPECT_EQ(offset->offset, 1'002);
    EXPECT_EQ(offset->uncertainty, 10);
    EXPECT_FALSE(estimate_offset({}));
    // A clock that was set back meanwhile tells nothing.
    EXPECT_FALSE(estimate_offset(std::vector<ClockSample>{{.sent = 9, .there = 5, .received = 1}}));
}

TEST(ClockOffset, ChangesEvenlyBetweenTwoEstimates) {
    const std::vector<ClockOffset> offsets{{.at = 1'000, .offset = 100},
                                           {.at = 2'000, .offset = 300}};
    EXPECT_EQ(on_other_clock(500, offsets), 600);
    EXPECT_EQ(on_other_clock(1'000, offsets), 1'100);
    EXPECT_EQ(on_other_clock(1'250, offsets), 1'400);
    EXPECT_EQ(on_other_clock(2'000, offsets), 2'300);
    EXPECT_EQ(on_other_clock(5'000, offsets), 5'300);
    EXPECT_EQ(on_other_clock(7, {}), 7);
    EXPECT_EQ(on_other_clock(7, std::vector<ClockOffset>{{.at = 3, .offset = -2}}), 5);
}

TEST(ClockOffset, IsFoundThroughTheStore) {
    const auto store = memory_store();
    const auto clock = [](std::int64_t ahead) {
        return
            [ahead] { return std::chrono::steady_clock::now().time_since_epoch().count() + ahead; };
    };
    constexpr std::int64_t hour = 3'600'000'000'000;
    constexpr Timeout patience{30'000};
    std::array<std::optional<ClockOffset>, 3> starts;
    std::array<std::optional<ClockOffset>, 3> ends;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 3; ++rank)
        ranks.emplace_back([&, rank] {
            // Rank 1 shares the clock of rank 0, rank 2 is an hour ahead.
            ClockExchange exchange(*store, rank, 3, rank == 2 ? "there" : "here",
                                   clock(rank == 2 ? hour : 0));
            const auto place = static_cast<std::size_t>(rank);
            starts[place] = exchange.start(patience);
            ends[place] = exchange.end(patience);
        });
    for (std::thread& rank : ranks) rank.join();
    ASSERT_TRUE(starts[0] && starts[1] && starts[2] && ends[2]);
    EXPECT_EQ(starts[0]->offset, 0);
    EXPECT_EQ(starts[1]->offset, 0);
    EXPECT_FALSE(ends[1]);
    for (const auto& found : {starts[2], ends[2]})
        EXPECT_LE(std::abs(found->offset + hour), found->uncertainty);
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::ofstream file(path);
    for (const std::string& line : lines) file << line << '\n';
}

std::vector<json> events_of(const json& trace, const std::string& phase) {
    std::vector<json> found;
    for (const json& event : trace["traceEvents"])
        if (event["ph"] == phase) found.push_back(event);
    return found;
}

TEST(Trace, IsPutTogetherFromParts) {
    const TempDir folder;
    const std::string one = folder / "trireme-j.rank-0.part";
    const std::string other = folder / "trireme-j.rank-1.part";
    write_lines(one, {R"({"trireme":1,"rank":0,"size":2,"host":"a","pid":11})",
                      R"({"group":1,"name":"world","ranks":[0,1]})", R"({"offset":[0,0,0]})",
                      R"({"n":1,"b":5000,"k":"all_reduce","g":1,"q":1})",
                      R"({"n":1,"b":5000,"e":9000,"ok":true,"k":"all_reduce","g":1,"q":1,"c":4,)"
                      R"("d":"float32","bytes":16,"r":"sum","a":"ring","s":"train.cpp:7"})",
                      R"({"n":2,"b":6000,"e":7000,"ok":true,"k":"send","g":1,"q":1,"p":1,"t":3})",
                      R"({"n":3,"b":9100,"k":"barrier","g":1,"q":2})", R"({"lost":3})",
                      R"({"closed":9500})"});
    // Its clock is 1,000,000 ahead. It died while it wrote.
    write_lines(other,
                {R"({"trireme":1,"rank":1,"size":2,"host":"b","pid":12})",
                 R"({"group":1,"name":"world","ranks":[0,1]})", R"({"offset":[0,-1000000,50]})",
                 R"({"n":1,"b":1006000,"e":1008000,"ok":false,"k":"all_reduce","g":1,"q":1})",
                 R"({"n":2,"b":1008500,"k":"recv","g":1,"q":1,"p":0,"t":3})",
                 R"({"n":9,"b":1008000,"k":"recv","g":1.7e22,"q":1})",
                 R"({"missed":17,"at":1009000})", R"({"n":3,"b":10085)"});
    const auto parts = find_trace_parts(folder / "", "j");
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_THAT(find_trace_jobs(folder / ""), ElementsAre("j"));
    EXPECT_EQ(read_trace(parts).unreadable, 2U);
    merge_trace_parts(parts, trace_path(folder / "", "j"));
    EXPECT_EQ(find_trace_parts(folder / "", "j").size(), 2U);

    const json trace = json::parse(std::ifstream(folder / "trireme-j.json"));
    const auto slices = events_of(trace, "X");
    ASSERT_EQ(slices.size(), 4U);
    EXPECT_EQ(slices[0]["name"], "all_reduce #1");
    EXPECT_EQ(slices[0]["ts"], 0.0);
    EXPECT_EQ(slices[0]["dur"], 4.0);
    EXPECT_EQ(slices[0]["args"], json::parse(R"({"sequence":1,"bytes":16,"count":4,)"
                                             R"("dtype":"float32","reduce":"sum",)"
                                             R"("algorithm":"ring","site":"train.cpp:7",)"
                                             R"("state":"done"})"));
    // It overlaps the other: it lies in a lane of its own.
    EXPECT_NE(slices[1]["tid"], slices[0]["tid"]);
    EXPECT_EQ(slices[2]["pid"], 1);
    EXPECT_EQ(slices[2]["ts"], 1.0);
    EXPECT_EQ(slices[2]["args"]["state"], "failed");
    // Up to what is known of the rank.
    EXPECT_EQ(slices[3]["args"]["state"], "under way");
    EXPECT_EQ(slices[3]["dur"], 0.5);

    const auto starts = events_of(trace, "s");
    const auto finishes = events_of(trace, "f");
    ASSERT_EQ(starts.size(), 2U);
    ASSERT_EQ(finishes.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(starts[i]["id"], finishes[i]["id"]);
        EXPECT_EQ(starts[i]["pid"], 0);
        EXPECT_EQ(finishes[i]["pid"], 1);
    }
    ASSERT_EQ(events_of(trace, "i").size(), 1U);
    EXPECT_EQ(events_of(trace, "i")[0]["name"], "17 operations not recorded");
    EXPECT_THAT(trace.dump(), HasSubstr("did not come to its end"));
}

TEST(Trace, OfGarbageIsAnError) {
    const TempDir folder;
    const std::string path = folder / "trireme-j.rank-0.part";
    for (const char* head : {"", "[]", "{\"trireme\":1}", "{\"trireme\":1,\"rank\":-3}", "\xff\xfe",
                             "{\"trireme\":2,\"rank\":0}"}) {
        write_lines(path, {head});
        test::expect_error(ErrorCode::system, {path},
                           [&] { static_cast<void>(read_trace({path})); });
    }
    write_lines(path, {R"({"trireme":1,"rank":0,"host":7})", "{}", "[1]", R"({"n":"x"})",
                       R"({"n":1,"b":[],"k":3})", R"({"group":{}})", R"({"offset":[1]})",
                       R"({"missed":1,"at":"now"})"});
    EXPECT_GE(read_trace({path}).unreadable, 1U);
    EXPECT_FALSE(find_trace_parts(folder / "no-such-folder", "j").size());
    write_lines(folder / "trireme-.part", {});
    write_lines(folder / "trireme-j.rank-x.part", {});
    EXPECT_EQ(find_trace_jobs(folder / "").size(), 1U);
}

// Notes what a collector says.
class Notes final : public OperationSink {
public:
    void begun(const board::Entry& entry) override { begun_ones.push_back(entry.number); }
    void ended(const board::Entry& entry) override { ended_ones.push_back(entry.number); }
    void lost(const board::Entry& entry) override { lost_ones.push_back(entry.number); }
    void missed(std::uint64_t count) override { misses += count; }

    std::vector<std::uint64_t> begun_ones;
    std::vector<std::uint64_t> ended_ones;
    std::vector<std::uint64_t> lost_ones;
    std::uint64_t misses = 0;
};

TEST(Collector, TellsEachOperationOnceAndCountsWhatItMissed) {
    Recorder recorder(0);
    Collector collector(recorder.shown());
    const auto now = Recorder::Clock::now();
    const auto begin = [&] {
        return recorder.begin({.kind = OpKind::barrier, .algorithm = "ring", .file = "a.cpp"}, 1, 0,
                              true, now);
    };
    Notes notes;
    EXPECT_EQ(collector.collect(notes), 0U);
    const auto slow = begin();
    recorder.end(begin(), true, now);
    EXPECT_EQ(collector.collect(notes), 2U);
    EXPECT_THAT(notes.begun_ones, ElementsAre(1, 2));
    EXPECT_THAT(notes.ended_ones, ElementsAre(2));
    ASSERT_EQ(collector.under_way().size(), 1U);
    EXPECT_EQ(collector.name(collector.under_way()[0].algorithm), "ring");
    recorder.end(slow, false, now);
    EXPECT_EQ(collector.collect(notes), 0U);
    EXPECT_THAT(notes.ended_ones, ElementsAre(2, 1));
    EXPECT_EQ(notes.misses, 0U);

    const auto stuck = begin();
    EXPECT_EQ(collector.collect(notes), 1U);
    for (std::size_t i = 0; i < board::slots + 10; ++i) recorder.end(begin(), true, now);
    notes.begun_ones.clear();
    notes.ended_ones.clear();
    EXPECT_EQ(collector.collect(notes), board::slots + 10);
    EXPECT_THAT(notes.lost_ones, ElementsAre(stuck));
    EXPECT_EQ(notes.misses, 11U);
    EXPECT_EQ(notes.begun_ones.size(), board::slots);
    EXPECT_EQ(notes.ended_ones.size(), board::slots);
    EXPECT_TRUE(collector.under_way().empty());
}

// What three ranks called, by name, sequence and rank.
TEST(Trace, OfARealJobHasAllRanksAndCalls) {
    const TempDir folder;
    WorldOptions options = test_options();
    options.trace = folder / "traces";
    run_ranks(
        3,
        [](World& world) {
            const Group group = world.group();
            const Group pair = world.group({0, 2}, "pair");
            // Enough for the long way: the times of the short one are looser.
            std::vector<float> x(10'000);
            for (int i = 0; i < 20; ++i) group.all_reduce(x);
            std::vector<Work> works;
            for (int i = 0; i < 5; ++i) works.push_back(group.barrier_async());
            for (Work& work : works) work.wait();
            if (pair.is_member()) {
                if (pair.rank() == 0)
                    pair.send(x, Peer{1}, Tag{4});
                else
                    pair.recv(x, Peer{0}, Tag{4});
            }
            group.barrier();
        },
        options);
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "traces"))
        files.push_back(entry.path().string());
    ASSERT_EQ(files.size(), 1U) << testing::PrintToString(files);
    ASSERT_THAT(files[0], testing::EndsWith(".json"));
    const json trace = json::parse(std::ifstream(files[0]));

    std::map<std::string, std::vector<json>> calls;
    std::map<std::pair<int, int>, double> busy;
    for (const json& slice : events_of(trace, "X")) {
        EXPECT_EQ(slice["args"]["state"], "done");
        EXPECT_THAT(slice["args"]["site"].get<std::string>(), HasSubstr("trace_test.cpp:"));
        // In one track nothing overlaps: so begins and ends are balanced.
        double& until = busy[{slice["pid"], slice["tid"]}];
        EXPECT_GE(slice["ts"].get<double>(), until - 0.001);
        until = slice["ts"].get<double>() + slice["dur"].get<double>();
        calls[slice["name"]].push_back(slice);
    }
    for (int i = 1; i <= 20; ++i) {
        const auto& call = calls["all_reduce #" + std::to_string(i)];
        ASSERT_EQ(call.size(), 3U) << i;
        double last_begin = 0;
        double first_end = 1e18;
        std::vector<int> ranks;
        for (const json& slice : call) {
            ranks.push_back(slice["pid"]);
            last_begin = std::max(last_begin, slice["ts"].get<double>());
            first_end = std::min(first_end, slice["ts"].get<double>() + slice["dur"].get<double>());
            EXPECT_EQ(slice["args"]["bytes"], 40'000);
            EXPECT_EQ(slice["args"]["dtype"], "float32");
        }
        std::ranges::sort(ranks);
        EXPECT_THAT(ranks, ElementsAre(0, 1, 2));
        // Nobody ends before all have begun.
        EXPECT_GE(first_end, last_begin - 0.001);
    }
    for (int i = 21; i <= 26; ++i) EXPECT_EQ(calls["barrier #" + std::to_string(i)].size(), 3U);
    EXPECT_EQ(calls["send #1"].size(), 1U);
    EXPECT_EQ(calls["recv #1"].size(), 1U);
    EXPECT_EQ(calls["send #1"][0]["args"]["tag"], 4);
    // 26 collectives of three ranks, one message.
    EXPECT_EQ(events_of(trace, "s").size(), 27U);
    EXPECT_EQ(events_of(trace, "t").size(), 26U);
    EXPECT_EQ(events_of(trace, "f").size(), 27U);
}

TEST(Trace, LeavesPartsWhereARankIsMissing) {
    const TempDir folder;
    WorldOptions options = test_options();
    options.trace = folder / "traces";
    options.trace_limit = 1;
    const auto store = memory_store();
    std::atomic<bool> done{false};
    std::thread late([&] {
        const World world = World::create(store, 1, 2, options);
        world.group().barrier();
        while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
    {
        const World world = World::create(store, 0, 2, options);
        // More than fits into a MiB of text.
        const Group own = world.group({0});
        int x = 0;
        for (int i = 0; i < 15'000; ++i) own.all_reduce(x);
        world.group().barrier();
    }
    done = true;
    const auto jobs = find_trace_jobs(options.trace);
    ASSERT_EQ(jobs.size(), 1U);
    const auto parts = find_trace_parts(options.trace, jobs[0]);
    EXPECT_EQ(parts.size(), 2U);
    late.join();
    for (const auto& part : parts)
        EXPECT_LT(std::filesystem::file_size(part), std::uintmax_t{1100} << 10);
    const Trace trace = read_trace(parts);
    EXPECT_GT(trace.ranks.at(0).missed, 0U);
    for (const TraceSlice& slice : trace.slices) EXPECT_TRUE(slice.is_over);
}

}  // namespace
}  // namespace trireme
