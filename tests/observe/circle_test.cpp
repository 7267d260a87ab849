// Who waits for whom in a circle.

#include "observe/circle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::map<int, Stand> stands(const std::vector<std::pair<int, std::vector<int>>>& all_of,
                            const std::vector<std::pair<int, std::vector<int>>>& any_of = {}) {
    std::map<int, Stand> result;
    for (const auto& [rank, needs] : all_of) result[rank].needs = needs;
    for (const auto& [rank, needs] : any_of) {
        result[rank].needs = needs;
        result[rank].any = true;
    }
    return result;
}

TEST(Circle, OfTwoAndOfThree) {
    EXPECT_THAT(find_circle(stands({{0, {1}}, {1, {0}}}), 0), ElementsAre(0, 1));
    EXPECT_THAT(find_circle(stands({{0, {1}}, {1, {0}}}), 1), ElementsAre(1, 0));
    EXPECT_THAT(find_circle(stands({{4, {7}}, {7, {2}}, {2, {4}}}), 7), ElementsAre(7, 2, 4));
}

TEST(Circle, OneLinkThatMayGoOnBreaksIt) {
    EXPECT_THAT(find_circle(stands({{0, {1}}, {1, {2}}}), 0), IsEmpty());
    EXPECT_THAT(find_circle({}, 0), IsEmpty());
    EXPECT_THAT(find_circle(stands({{0, {}}}), 0), IsEmpty());
}

TEST(Circle, WhoNeedsAllIsStuckWithOne) {
    // Rank 3 is in its own code; rank 1 is enough.
    EXPECT_THAT(find_circle(stands({{0, {3, 1}}, {1, {0}}}), 0), ElementsAre(0, 1));
}

TEST(Circle, WhoNeedsAnyIsStuckWithAllOnly) {
    EXPECT_THAT(find_circle(stands({{1, {0}}}, {{0, {1, 3}}}), 0), IsEmpty());
    EXPECT_THAT(find_circle(stands({{1, {0}}, {3, {1}}}, {{0, {1, 3}}}), 0), ElementsAre(0, 1));
}

TEST(Circle, WhoOnlyWaitsForOneIsNotInIt) {
    EXPECT_THAT(find_circle(stands({{0, {1}}, {1, {2}}, {2, {1}}}), 0), ElementsAre(1, 2));
}

}  // namespace
}  // namespace trireme
