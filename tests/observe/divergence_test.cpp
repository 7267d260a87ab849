// Where the ranks of a group part, by reports made by hand.

#include "observe/divergence.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const auto start = RankReport::Clock::now();

Sighting call(std::uint64_t sequence, std::uint64_t fingerprint, bool under_way = false,
              std::uint32_t stream = 1) {
    return {.kind = OpKind::all_reduce,
            .call = "call " + std::to_string(fingerprint),
            .group = "world",
            .stream = stream,
            .sequence = sequence,
            .number = sequence,
            .fingerprint = fingerprint,
            .under_way = under_way,
            .blocking = true,
            .begun = start + 1s * sequence,
            .ended = start + 1s * sequence};
}

/// Of a rank that is in one group of `size`; `calls` newest first.
RankReport rank(int number, int size, std::optional<std::uint64_t> reached,
                std::vector<Sighting> calls) {
    return {.world = "w",
            .rank = number,
            .size = size,
            .taken = start + 20s,
            .groups =
                {{.stream = 1, .group = "world", .rank = number, .size = size, .reached = reached}},
            .operations = std::move(calls)};
}

TEST(Divergence, ThereIsNoneInStep) {
    EXPECT_TRUE(find_divergences({}).empty());
    EXPECT_TRUE(find_divergences({rank(0, 2, 0, {}), rank(1, 2, 0, {})}).empty());
    EXPECT_TRUE(find_divergences({rank(0, 2, 2, {call(2, 9), call(1, 8)}),
                                  rank(1, 2, 2, {call(2, 9), call(1, 8)})})
                    .empty());
}

TEST(Divergence, IsTheFirstCollectiveToWhichSomeHaveNotCome) {
    const auto found = find_divergences({rank(0, 3, 3, {call(3, 7, true), call(2, 7), call(1, 7)}),
                                         rank(1, 3, 1, {call(1, 7)}),
                                         rank(2, 3, 2, {call(2, 7, true), call(1, 7)})});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].group, "world");
    EXPECT_EQ(found[0].sequence, 2U);
    EXPECT_FALSE(found[0].mismatch);
    EXPECT_EQ(found[0].age, 18s);
    EXPECT_EQ(found[0].unseen, 0);
    ASSERT_EQ(found[0].members.size(), 3U);
    EXPECT_EQ(found[0].members[0].call, "call 7");
    EXPECT_EQ(found[0].members[1].call, std::nullopt);
    EXPECT_EQ(found[0].members[1].doing,
              "is in user code for 19.0 s, after call 7 on group \"world\"");
    EXPECT_EQ(found[0].members[2].call, "call 7");
}

TEST(Divergence, IsTheFirstCollectiveWhoseCallsDiffer) {
    // They differ at 2; that one is behind at 4 comes later.
    const auto found =
        find_divergences({rank(0, 2, 4, {call(4, 1), call(3, 1), call(2, 5), call(1, 1)}),
                          rank(1, 2, 3, {call(3, 1), call(2, 6), call(1, 1)})});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].mismatch);
    EXPECT_EQ(found[0].sequence, 2U);
    EXPECT_EQ(found[0].members[0].call, "call 5");
    EXPECT_EQ(found[0].members[1].call, "call 6");
}

TEST(Divergence, ThoseThatHaveComeMayDifferWhileOthersAreMissing) {
    const auto found = find_divergences(
        {rank(0, 3, 1, {call(1, 5)}), rank(1, 3, 1, {call(1, 6)}), rank(2, 3, 0, {})});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].mismatch);
    EXPECT_FALSE(found[0].members[2].call);
}

TEST(Divergence, WhatIsForgottenOrUnseenIsSaid) {
    // Rank 0 remembers nothing of 5, rank 2 not how far it has come, and of rank 3 nothing is
    // known.
    const auto found = find_divergences(
        {rank(0, 4, 9, {call(9, 1)}), rank(1, 4, 4, {call(4, 1)}), rank(2, 4, std::nullopt, {})});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].sequence, 5U);
    EXPECT_FALSE(found[0].members[0].recorded);
    EXPECT_FALSE(found[0].members[1].call);
    EXPECT_FALSE(found[0].members[2].recorded);
    EXPECT_EQ(found[0].unseen, 1);
    EXPECT_EQ(found[0].age, 0s);
}

TEST(Divergence, AMemberThatHasLeftTheGroupCountsByWhatItDid) {
    RankReport left = rank(1, 2, 0, {call(1, 1)});
    left.groups.clear();
    EXPECT_TRUE(find_divergences({rank(0, 2, 1, {call(1, 1)}), left}).empty());
    const auto found = find_divergences({rank(0, 2, 2, {call(2, 1, true), call(1, 1)}), left});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found[0].members[1].call);
}

TEST(Divergence, IsOfEachGroup) {
    RankReport zero = rank(0, 2, 1, {call(1, 1, true, 2), call(1, 1)});
    RankReport one = rank(1, 2, 1, {call(1, 1)});
    zero.groups.push_back({.stream = 2, .group = "tp", .rank = 1, .size = 2, .reached = 1});
    one.groups.push_back({.stream = 2, .group = "tp", .rank = 0, .size = 2, .reached = 0});
    const auto found = find_divergences({zero, one});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].group, "tp");
    EXPECT_EQ(found[0].sequence, 1U);
}

TEST(Awaited, IsWhoeverHasNotComeToTheCallOfAnother) {
    const auto awaited =
        find_awaited({rank(0, 3, 2, {call(2, 1, true)}), rank(1, 3, 1, {call(1, 1)}),
                      rank(2, 3, 2, {call(2, 1, true)})});
    ASSERT_EQ(awaited.size(), 1U);
    EXPECT_THAT(awaited.at(1), ElementsAre(0, 2));
}

TEST(Awaited, IsTheOtherSideOfAMessage) {
    Sighting message = call(1, 1, true);
    message.kind = OpKind::recv;
    message.peer = 1;
    RankReport waiting = rank(0, 2, 0, {message});
    waiting.waits = {{.number = message.number, .rank = 1, .any = false},
                     {.number = 99, .rank = 0, .any = false}};
    const auto awaited = find_awaited({waiting, rank(1, 2, 0, {})});
    ASSERT_EQ(awaited.size(), 1U);
    EXPECT_THAT(awaited.at(1), ElementsAre(0));
}

TEST(Awaited, IsNobodyForAMoment) {
    RankReport late = rank(1, 2, 1, {call(1, 1)});
    late.taken = start + 2s + 10ms;
    EXPECT_TRUE(find_awaited({rank(0, 2, 2, {call(2, 1, true)}), late}).empty());
}

TEST(SplitWorlds, OneByOneAndRankByRank) {
    RankReport other = rank(0, 1, 0, {});
    other.world = "v";
    RankReport later = rank(1, 2, 7, {});
    later.taken += 1s;
    const auto worlds = split_worlds({rank(1, 2, 1, {}), later, rank(0, 2, 1, {}), other});
    ASSERT_EQ(worlds.size(), 2U);
    EXPECT_EQ(worlds[0].size(), 1U);
    ASSERT_EQ(worlds[1].size(), 2U);
    EXPECT_EQ(worlds[1][0].rank, 0);
    EXPECT_EQ(worlds[1][1].groups[0].reached, 7U);
}

}  // namespace
}  // namespace trireme
