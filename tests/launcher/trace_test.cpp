// `trireme trace` as a user runs it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "launcher.h"
#include "support/temp_dir.h"

namespace trireme::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What a rank leaves that died in its second call.
void leave_part(const TempDir& folder, int rank) {
    std::ofstream(folder / ("trireme-job.rank-" + std::to_string(rank) + ".part"))
        << R"({"trireme":1,"rank":)" << rank << R"(,"size":2,"host":"node","pid":17})" << '\n'
        << R"({"group":1,"name":"world","ranks":[0,1]})" << '\n'
        << R"({"n":1,"b":1000,"e":3000,"ok":true,"k":"barrier","g":1,"q":1,"a":"ring"})" << '\n'
        << R"({"n":2,"b":4000,"k":"all_reduce","g":1,"q":2,"c":1,"d":"int32","bytes":4)";
}

TEST(TraceCommand, PutsPartsTogetherAndDrawsThem) {
    const TempDir folder;
    leave_part(folder, 0);
    leave_part(folder, 1);
    Launcher merge({"trace", folder / ""});
    EXPECT_EQ(merge.wait(), 0) << merge.err();
    EXPECT_EQ(merge.out(), folder / "trireme-job.json" + ": 2 ranks\n");
    const auto trace = nlohmann::json::parse(std::ifstream(folder / "trireme-job.json"));
    int bars = 0;
    for (const auto& event : trace["traceEvents"]) {
        bars += event["ph"] == "X" ? 1 : 0;
    }
    EXPECT_EQ(bars, 2);  // the last lines are not whole

    Launcher draw({"trace", folder / "trireme-job.json", "--svg", folder / "trace.svg"});
    EXPECT_EQ(draw.wait(), 0) << draw.err();
    std::ifstream file(folder / "trace.svg");
    const std::string picture((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(picture, StartsWith("<svg "));
    EXPECT_EQ(count(picture, ">barrier #1</text>"), 2U);

    // What is there is not overwritten.
    leave_part(folder, 0);
    Launcher again({"trace", folder / ""});
    EXPECT_EQ(again.wait(), 1);
    EXPECT_THAT(again.err(), HasSubstr("is there already"));
}

TEST(TraceCommand, SaysWhatIsWrong) {
    const TempDir folder;
    Launcher nothing({"trace", folder / ""});
    EXPECT_EQ(nothing.wait(), 1);
    EXPECT_THAT(nothing.err(), HasSubstr("there is no part of a trace in"));
    std::ofstream(folder / "other.json") << R"({"traceEvents":[{"ph":"X"}]})";
    ASSERT_EQ(::mkfifo((folder / "pipe.json").c_str(), 0600), 0);
    for (const char* file : {"other.json", "missing.json", "pipe.json"}) {
        Launcher picture({"trace", folder / file, "--svg", folder / "trace.svg"});
        EXPECT_EQ(picture.wait(), 1) << file;
        EXPECT_THAT(picture.err(), HasSubstr("is no trace of Trireme"));
    }
    Launcher wrong({"trace"});
    EXPECT_EQ(wrong.wait(), 2);
}

}  // namespace
}  // namespace trireme::test
