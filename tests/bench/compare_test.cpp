// Two runs of a benchmark side by side.

#include "../../tools/bench/compare.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "sample_report.h"
#include "support/temp_dir.h"

namespace trireme::bench {
namespace {

using nlohmann::json;
using test::sample_row;
using testing::ElementsAre;

json report_of(const std::vector<json>& rows) { return {{"rows", rows}}; }

TEST(BenchCompare, PutsWhatBecameSlowerFirst) {
    const json before = report_of({sample_row("all_reduce", 2, 8, "user", 1, 2, 300),
                                   sample_row("all_reduce", 2, 64, "user", 1, 2, 300),
                                   sample_row("all_reduce", 4, 8, "user", 4, 8, 300),
                                   sample_row("broadcast", 2, 8, "user", 1, 2, 300)});
    const json after = report_of({sample_row("all_reduce", 4, 8, "user", 2, 8, 300),
                                  sample_row("all_reduce", 2, 8, "user", 1.5, 3, 300),
                                  sample_row("all_reduce", 2, 64, "user", 3, 2, 300),
                                  sample_row("all_reduce", 2, 8, "shared", 1, 2, 300)});
    const Comparison comparison = compare_reports(before, after);
    std::vector<double> changes;
    for (const ComparedRow& row : comparison.rows) changes.push_back(row.change());
    EXPECT_THAT(changes, ElementsAre(3, 1.5, 0.5));
    EXPECT_EQ(comparison.rows[0].after.bytes, 64U);
    EXPECT_EQ(comparison.rows[2].after.ranks, 4);
    EXPECT_EQ(comparison.only_before, 1U);
    EXPECT_EQ(comparison.only_after, 1U);
}

TEST(BenchCompare, KeepsVariantsApart) {
    json in_place = sample_row("all_reduce", 2, 8, "user", 1, 2, 300);
    in_place["in_place"] = true;
    json other = in_place;
    other["dtype"] = "bfloat16";
    other["ours_us"] = 2;
    json missing = sample_row("all_gather", 2, 8, "user", 1, 2, 300);
    missing["ours_us"] = nullptr;
    const Comparison comparison =
        compare_reports(report_of({in_place, other, missing}), report_of({other, missing}));
    ASSERT_EQ(comparison.rows.size(), 1U);
    EXPECT_EQ(comparison.rows[0].after.variant, "bfloat16, in place");
    EXPECT_EQ(comparison.rows[0].change(), 1);
    EXPECT_EQ(comparison.only_before, 1U);
}

int compare_of_words(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return compare_command(static_cast<int>(words.size()), argv.data());
}

TEST(BenchCompare, IsPrintedAndWrittenByTheCommand) {
    const test::TempDir folder;
    json worse = sample_row("all_reduce", 2, 8, "user", 2.5, 5, 300);
    worse["wrong"] = 1;
    std::ofstream(folder / "a.json")
        << report_of({sample_row("all_reduce", 2, 8, "user", 2, 5, 300)});
    std::ofstream(folder / "b.json") << report_of({worse});
    testing::internal::CaptureStdout();
    ASSERT_EQ(compare_of_words(
                  {"compare", folder / "a.json", folder / "b.json", "--json", folder / "c.json"}),
              0);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(out,
              "operation            ranks      size  buffers    before     after  after / before"
              "  ratio before  ratio after\n"
              "all_reduce, float32      2       8 B     user   2.00 µs   2.50 µs           1.250"
              "          2.50         2.00  WRONG after\n");
    const json written = json::parse(std::ifstream(folder / "c.json"));
    EXPECT_EQ(written.at("rows").at(0).at("change"), 1.25);
    EXPECT_EQ(written.at("rows").at(0).at("ratio_after"), 2);
    EXPECT_EQ(compare_of_words({"compare", folder / "a.json", folder / "none.json"}), 1);
    EXPECT_EQ(compare_of_words({"compare", folder / "a.json"}), 2);
    EXPECT_EQ(compare_of_words({"compare", "--help"}), 0);
}

}  // namespace
}  // namespace trireme::bench
