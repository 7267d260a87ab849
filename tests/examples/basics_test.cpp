// Runs every basic example as its user would, and compares what it prints with what its comment
// says that it prints.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "launcher/launcher.h"

namespace trireme::test {
namespace {

constexpr const char* opening = "/* Prints, in any order of lines:";
constexpr const char* closing = "*/";
constexpr std::size_t one_screen = 60;

struct Example {
    std::string name;
    std::string source;
};

void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

std::vector<Example> examples() {
    std::vector<Example> found;
    for (const std::string& source : lines_of(TRIREME_BASICS)) {
        found.push_back({std::filesystem::path(source).stem(), source});
    }
    return found;
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
    std::sort(lines.begin(), lines.end());
    return lines;
}

class Basics : public testing::TestWithParam<Example> {};

TEST_P(Basics, PrintsWhatItsCommentSays) {
    std::ifstream file(GetParam().source);
    const std::vector<std::string> source = lines_of({std::istreambuf_iterator<char>(file), {}});
    EXPECT_LE(source.size(), one_screen);
    const auto begin = std::find(source.begin(), source.end(), opening);
    ASSERT_NE(begin, source.end()) << GetParam().source << " has no line: " << opening;
    const auto end = std::find(begin, source.end(), closing);
    ASSERT_NE(end, source.end()) << GetParam().source << " has no line: " << closing;

    Launcher trireme({"run", "-n", "4", "--no-prefix", "--",
                      std::string(TRIREME_BIN_DIR) + "/" + GetParam().name});
    EXPECT_EQ(trireme.wait(), 0) << trireme.err();
    EXPECT_EQ(trireme.err(), "");
    EXPECT_EQ(sorted(lines_of(trireme.out())), sorted({begin + 1, end}));
}

INSTANTIATE_TEST_SUITE_P(All, Basics, testing::ValuesIn(examples()),
                         [](const auto& example) { return example.param.name; });

}  // namespace
}  // namespace trireme::test
