// The page that shows a benchmark's results.

#include "../../tools/bench/page.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sample_report.h"
#include "support/temp_dir.h"

namespace trireme::bench {
namespace {

using nlohmann::json;
using test::sample_report;
using test::sample_row;

// Rather than a matcher, which would print all of the page.
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
        ++found;
    }
    return found;
}

// The first tag that does not fit, or nothing. Style and script hold no tags.
std::string misplaced_tag(const std::string& html) {
    std::vector<std::string> open;
    for (std::size_t at = 0; (at = html.find('<', at)) != std::string::npos;) {
        const std::size_t end = html.find('>', at);
        if (end == std::string::npos) return html.substr(at, 40);
        const std::string tag = html.substr(at + 1, end - at - 1);
        const std::string name = tag.substr(0, tag.find_first_of(" /\n", 1));
        at = end;
        if (tag.starts_with('!') || name == "meta" || tag.ends_with('/')) continue;
        if (!tag.starts_with('/')) {
            open.push_back(name);
        } else if (open.empty() || "/" + open.back() != tag) {
            return tag;
        } else {
            open.pop_back();
        }
        if (!open.empty() && (open.back() == "style" || open.back() == "script")) {
            at = html.find("</" + open.back(), at);
        }
    }
    return open.empty() ? "" : open.back();
}

std::string page_of_rows(const std::vector<json>& rows) { return bench_page({{"rows", rows}}); }

TEST(BenchPage, HasAChartForEveryOperationAndNumberOfRanks) {
    const std::string page = bench_page(sample_report());
    EXPECT_EQ(misplaced_tag(page), "");
    EXPECT_EQ(count_of(page, "<h4>2 ranks"), 6U);
    EXPECT_EQ(count_of(page, "<h4>8 ranks"), 6U);
    EXPECT_EQ(count_of(page, "<h4>by number of ranks"), 1U);
    // Each with the peers and the limit; and once in the legend.
    for (const char* curve :
         {"curve user", "curve peer0", "curve peer1", "curve peer2", "curve limit"}) {
        EXPECT_EQ(count_of(page, curve), 20U) << curve;
    }
    EXPECT_EQ(count_of(page, "curve shared"), 4U);  // all_reduce only
    EXPECT_TRUE(has(page, "150 measurements, all results checked."));
    EXPECT_FALSE(has(page, "WRONG RESULTS"));
    EXPECT_TRUE(has(page, "processor <b>Sample</b>"));
    EXPECT_TRUE(has(page, "18.8 GB/s"));
}

TEST(BenchPage, NeedsNothingBesideItself) {
    const std::string page = bench_page(sample_report());
    for (const char* outside : {"http", "src=", "url(", "@import", "<link", "fetch("}) {
        EXPECT_FALSE(has(page, outside)) << outside;
    }
}

TEST(BenchPage, TellsTheValuesAtAPoint) {
    const std::string page =
        page_of_rows({sample_row("all_reduce", 2, 1024, "user", 0.5, 1, 476),
                      sample_row("all_reduce", 2, 65536, "shared", 12.5, 40, 2000)});
    EXPECT_TRUE(has(page,
                    "data-tip=\"1 KiB&#10;"
                    "Trireme            500 ns&#10;"
                    "openmpi           1.00 µs&#10;"
                    "mpich             2.30 µs&#10;"
                    "gloo               476 µs\""));
    EXPECT_TRUE(has(page, "Trireme, shared   12.5 µs&#10;openmpi           40.0 µs"));
}

TEST(BenchPage, ColoursRatiosByTheGoal) {
    const std::string page = page_of_rows({sample_row("all_reduce", 2, 8, "user", 1, 1.31, 199),
                                           sample_row("all_reduce", 2, 1024, "user", 1, 1.2, 200),
                                           sample_row("all_reduce", 2, 16384, "user", 1, 0.9, 40),
                                           sample_row("all_reduce", 2, 65536, "shared", 1, 9, 4)});
    EXPECT_TRUE(has(page, ">1.31</td>"));
    EXPECT_EQ(count_of(page, "<td class=\"good"), 2U);  // 1.31 and 200
    EXPECT_EQ(count_of(page, "<td class=\"near"), 2U);  // 1.2 and 199
    EXPECT_EQ(count_of(page, "<td class=\"miss"), 3U);  // 0.9, 40 and 4; 9 has no goal
    EXPECT_TRUE(has(page, "Goals: 2 of 7 reached"));
    EXPECT_TRUE(has(page, "<b>1 / 2</b>≥ 1.3<span>least 1.20: all_reduce, 2 ranks, 1 KiB"));
}

TEST(BenchPage, ShoutsAboutWrongResults) {
    json report = sample_report();
    report["rows"][0]["wrong"] = 17;
    report["rows"][1].erase("wrong");
    report["rows"][2]["peers_wrong"] = {{"mpich", 3}};
    report["rows"][2]["left_out"] = {{"gloo", "it hung"}};
    const std::string page = bench_page(report);
    EXPECT_EQ(misplaced_tag(page), "");
    EXPECT_TRUE(has(page, "<b>WRONG RESULTS</b> in 2 of the measurements"));
    EXPECT_TRUE(has(page, "all_reduce, 2 ranks, 1 KiB: 3 wrong values by mpich"));
    EXPECT_TRUE(has(page, "&#10;gloo: it hung"));
    EXPECT_TRUE(has(page, "all_reduce, 2 ranks, 8 B: 17 wrong values by Trireme"));
    EXPECT_TRUE(has(page, ">WRONG</td>"));
    EXPECT_TRUE(has(page, "<path class=\"wrong\""));
    EXPECT_TRUE(has(page, "208 ns  WRONG"));
    EXPECT_TRUE(has(page, "the results of 1 not checked"));
}

TEST(BenchPage, KeepsVariantsOfAnOperationApart) {
    json in_place = sample_row("all_reduce", 2, 8, "user", 1, 2, 300);
    in_place["in_place"] = true;
    json elsewhere = in_place;
    elsewhere["in_place"] = false;
    json barrier = sample_row("barrier", 2, 0, "user", 1, 2, 300);
    barrier["in_place"] = true;
    const std::string page = page_of_rows({in_place, elsewhere, barrier});
    EXPECT_TRUE(has(page, "<h3>all_reduce, in place</h3>"));
    EXPECT_TRUE(has(page, "<h3>all_reduce, out of place</h3>"));
    EXPECT_TRUE(has(page, "<h3>barrier</h3>"));
}

TEST(BenchPage, EscapesHostileTexts) {
    const std::string hostile = "</script></style><script>alert('1')</script>\"><img src=x>";
    json report = sample_report();
    json row = sample_row(hostile, 2, 8, hostile, 1, 2, 3);
    row["peers"][hostile] = 4;
    row["dtype"] = hostile;
    row["wrong"] = 3;
    row["peers_wrong"] = {{hostile, 3}};
    row["left_out"] = {{hostile, hostile}};
    report["rows"] = {row, row};
    report["rows"][1]["dtype"] = "float32";
    report["date"] = hostile;
    report[hostile] = hostile;
    report["machine"] = {{hostile, hostile}};
    report["limits"][hostile] = {{"best", 1}, {"unit", hostile}, {"about", hostile}};
    const std::string page = bench_page(report);
    EXPECT_EQ(count_of(page, "<script"), 1U);
    EXPECT_EQ(count_of(page, "</style"), 1U);
    EXPECT_FALSE(has(page, "<img"));
    EXPECT_EQ(misplaced_tag(page), "");
}

TEST(BenchPage, LeavesOutWhatIsNoRow) {
    const std::string deep = std::string(2000, '[') + std::string(2000, ']');
    const json good = sample_row("all_reduce", 2, 8, "user", 1, 2, 3);
    json rows = {good, 1, "row", nullptr, json::parse(deep), json::object()};
    const auto add_with = [&](const char* name, const json& value) {
        rows.push_back(good);
        rows.back()[name] = value;
    };
    for (const json& value : {json(-1), json(1.5), json("8"), json(), json(UINT64_MAX)}) {
        add_with("ranks", value);
        add_with("bytes", value);
    }
    add_with("op", 3);
    EXPECT_TRUE(
        has(bench_page(rows), "1 measurement, all results checked; 16 of its rows could not"));
    // These are rows, though of no use.
    rows = json::array();
    for (const json& value : {json(-1), json(1e300), json("1"), json::array(), json(5e-324)}) {
        for (const char* name : {"ours_us", "min_us", "peers", "wrong", "hosts", "in_place",
                                 "peers_wrong", "left_out"}) {
            add_with(name, value);
        }
        add_with("peers", {{"gloo", value}});
    }
    EXPECT_EQ(misplaced_tag(bench_page(rows)), "");
    EXPECT_TRUE(
        has(bench_page({{"rows", rows}, {"limits", rows}, {"machine", rows}}), "45 measurements"));
    json limits = test::sample_limits();
    limits["cores"] = -1;
    limits["copy_by_size"] = {1, {{"bytes", "x"}}, {{"bytes", 8}, {"GBps", 1e-300}}};
    EXPECT_EQ(misplaced_tag(bench_page({{"rows", {good}}, {"limits", limits}})), "");
}

TEST(BenchPage, OfAnEmptyReportSaysSo) {
    for (const json& report :
         {json(), json::array(), json::object(), json{{"rows", 5}}, json("x")}) {
        const std::string page = bench_page(report);
        EXPECT_TRUE(has(page, "This report holds no measurements."));
        EXPECT_EQ(misplaced_tag(page), "");
    }
}

int page_of_words(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return page_command(static_cast<int>(words.size()), argv.data());
}

TEST(BenchPage, IsWrittenByTheCommand) {
    const test::TempDir folder;
    std::ofstream(folder / "in.json") << sample_report().dump();
    std::ofstream(folder / "no.json") << "{\"rows\": [";
    ASSERT_EQ(page_of_words({"page", folder / "in.json", "--html", folder / "out.html"}), 0);
    std::ifstream file(folder / "out.html");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(page, bench_page(sample_report()));
    EXPECT_EQ(page_of_words({"page", folder / "no.json", "--html", folder / "a.html"}), 1);
    EXPECT_EQ(page_of_words({"page", folder / "none.json", "--html", folder / "a.html"}), 1);
    EXPECT_EQ(page_of_words({"page", folder / "in.json", "--html", folder / "no/a.html"}), 1);
    EXPECT_EQ(page_of_words({"page", folder / "in.json"}), 2);
    EXPECT_EQ(page_of_words({"page", "--help"}), 0);
}

}  // namespace
}  // namespace trireme::bench
