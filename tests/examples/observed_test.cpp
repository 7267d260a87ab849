// Ranks that are processes write a trace and serve their figures.

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

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* example = TRIREME_BIN_DIR "/all_reduce";

TEST(Observed, ProcessesWriteOneTrace) {
    const TempDir folder;
    Launcher trireme({"run", "-n", "3", "--", example},
                     {.environment = {"TRIREME_TRACE=" + (folder / "traces")}});
    EXPECT_EQ(trireme.wait(), 0) << trireme.err();
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "traces")) {
        files.push_back(entry.path().string());
    }
    ASSERT_EQ(files.size(), 1U) << testing::PrintToString(files);
    ASSERT_THAT(files[0], EndsWith(".json"));
    const auto trace = nlohmann::json::parse(std::ifstream(files[0]));
    std::set<int> ranks;
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "X") {
            ranks.insert(event["pid"].get<int>());
            EXPECT_THAT(event["args"]["site"].get<std::string>(), HasSubstr("all_reduce.cpp:"));
        }
    }
    EXPECT_EQ(ranks, (std::set{0, 1, 2}));
}

TEST(Observed, WhatCannotBeHadIsNamed) {
    Launcher folder({"run", "-n", "2", "--", example},
                    {.environment = {"TRIREME_TRACE=/proc/no-folder-here"}});
    EXPECT_NE(folder.wait(), 0);
    EXPECT_THAT(folder.err(), HasSubstr("TRIREME_TRACE=\"/proc/no-folder-here\""));
    Launcher limit({"run", "-n", "1", "--", example},
                   {.environment = {"TRIREME_TRACE_LIMIT=much"}});
    EXPECT_NE(limit.wait(), 0);
    EXPECT_THAT(limit.err(), HasSubstr("TRIREME_TRACE_LIMIT=\"much\""));
    Launcher address({"run", "-n", "1", "--", example}, {.environment = {"TRIREME_METRICS=here"}});
    EXPECT_NE(address.wait(), 0);
    EXPECT_THAT(address.err(), HasSubstr("TRIREME_METRICS=\"here\": expected host:port"));
}

}  // namespace
}  // namespace trireme::test
