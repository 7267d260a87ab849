// What a board says of its rank, and as JSON.

#include "observe/rank_report.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "observe/recorder.h"
#include "support/expect_error.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr shm::Token token{std::byte{7}};

OpRecord record_of(OpKind kind, std::uint64_t sequence) {
    return {.kind = kind,
            .dtype = Dtype::float32,
            .peer = 2,
            .count = 1024,
            .sequence = sequence,
            .algorithm = "ring",
            .file = "/somewhere/train.cpp",
            .line = 88};
}

RankReport report_of(const Recorder& recorder, std::size_t most = 10) {
    return make_report(BoardView::open(recorder.address()).value(), ::getpid(), most);
}

TEST(RankReport, SaysWhatTheRankDoes) {
    Recorder recorder(3, 4);
    EXPECT_THAT(describe_doing(report_of(recorder)), HasSubstr("is joining its world for 0.0 s"));
    recorder.set_token(token);
    EXPECT_EQ(describe_doing(report_of(recorder)), "has not called anything yet");
    const auto now = Recorder::Clock::now();
    recorder.show_errand("making group \"tp\"", now);
    EXPECT_EQ(describe_doing(report_of(recorder)), "is making group \"tp\" for 0.0 s");
    recorder.show_errand("", now);
    const auto group = recorder.enter_group(9, "tp", 1, 2);
    const auto number =
        recorder.begin(record_of(OpKind::all_reduce, 42), 9, group, true, now - 100s);
    const board::Wait wait{.number = number, .rank = 1};
    recorder.show_waits(std::span(&wait, 1), now);
    EXPECT_THAT(
        describe_doing(report_of(recorder)),
        MatchesRegex(R"(is in all_reduce #42 float32\[1024\] sum \(train.cpp:88\) on group )"
                     R"("tp" for 100.* s and waits for rank 1)"));
    recorder.end(number, true, now - 50s);
    EXPECT_THAT(
        describe_doing(report_of(recorder)),
        MatchesRegex(R"(is in user code for 5.* s, after all_reduce #42 .* on group "tp")"));
}

// A receive that was started before a message was sent, and failed long after.
TEST(RankReport, WhatEndedLastCountsNotWhatBeganLast) {
    Recorder recorder(3, 4);
    recorder.set_token(token);
    const auto now = Recorder::Clock::now();
    const auto board = [&] { return BoardView::open(recorder.address()).value(); };
    EXPECT_FALSE(board().last_ended());
    const auto received = recorder.begin(record_of(OpKind::recv, 1), 9, 0, false, now - 100s);
    const auto sent = recorder.begin(record_of(OpKind::send, 1), 9, 0, true, now - 100s);
    recorder.end(sent, true, now - 90s);
    EXPECT_EQ(board().last_ended()->kind, OpKind::send);
    recorder.end(received, false, now - 50s);
    EXPECT_EQ(board().last_ended()->kind, OpKind::recv);
    EXPECT_THAT(describe_doing(report_of(recorder)),
                MatchesRegex(R"(is in user code for 5.* s, after recv #1 .*)"));
}

TEST(RankReport, ShowsGroupsTrafficAndTheLastOperations) {
    Recorder recorder(1, 3);
    recorder.set_token(token);
    const auto now = Recorder::Clock::now();
    const auto group = recorder.enter_group(9, "tp", 1, 2);
    static_cast<void>(recorder.enter_group(10, "gone", 0, 2));
    recorder.leave_group(10);
    const auto first = recorder.begin(record_of(OpKind::all_reduce, 1), 9, group, true, now);
    for (std::uint64_t i = 2; i <= 5; ++i)
        recorder.end(recorder.begin(record_of(OpKind::all_reduce, i), 9, group, true, now), i != 5,
                     now);
    recorder.traffic(2).count_sent(100);
    recorder.traffic(2).count_sent(1);
    recorder.traffic(5000).count_received(7);  // with all that have no place of their own

    const RankReport report = report_of(recorder, 2);
    EXPECT_EQ(report.rank, 1);
    EXPECT_EQ(report.size, 3);
    EXPECT_EQ(report.begun, 5U);
    ASSERT_EQ(report.groups.size(), 1U);
    EXPECT_EQ(report.groups[0].group, "tp");
    EXPECT_EQ(report.groups[0].rank, 1);
    EXPECT_EQ(report.groups[0].size, 2);
    EXPECT_EQ(report.groups[0].reached, 5U);
    // The last two, and what is under way.
    ASSERT_EQ(report.operations.size(), 3U);
    EXPECT_TRUE(report.operations[0].failed);
    EXPECT_EQ(report.operations[0].bytes, 4096U);
    EXPECT_EQ(report.operations[0].algorithm, "ring");
    EXPECT_EQ(report.operations[1].number, 4U);
    EXPECT_EQ(report.operations[2].number, first);
    ASSERT_EQ(report.traffic.size(), 1U);
    EXPECT_EQ(report.traffic[0].peer, 2);
    EXPECT_EQ(report.traffic[0].sent, 101U);
    EXPECT_EQ(recorder.traffic(1023).received, 7U);
}

TEST(RankReport, FingerprintsAreThoseOfCallsThatFit) {
    Recorder recorder(0);
    const auto now = Recorder::Clock::now();
    const auto add = [&](const OpRecord& record) {
        static_cast<void>(recorder.begin(record, 9, 0, true, now));
        return report_of(recorder, 1).operations.front().fingerprint;
    };
    const OpRecord plain = record_of(OpKind::all_reduce, 1);
    OpRecord other = plain;
    other.line = 99;
    EXPECT_EQ(add(plain), add(other));
    other.count = 1000;
    EXPECT_NE(add(plain), add(other));
    // What a rank gives to a gather is its own business.
    OpRecord gather = record_of(OpKind::gather, 1);
    OpRecord shorter = gather;
    shorter.count = 1;
    EXPECT_EQ(add(gather), add(shorter));
    shorter.peer = 0;
    EXPECT_NE(add(gather), add(shorter));
    OpRecord mine = plain;
    mine.reduce = ReduceOp::Kind::user;
    mine.user = {'f'};
    OpRecord theirs = mine;
    theirs.user = {'g'};
    EXPECT_NE(add(mine), add(theirs));
}

TEST(RankReport, IsTheSameAfterJson) {
    Recorder recorder(1, 3);
    recorder.set_token(token);
    const auto now = Recorder::Clock::now();
    const auto group = recorder.enter_group(9, "t\"p\xff", 1, 2);
    recorder.end(recorder.begin(record_of(OpKind::send, 3), 9, group, true, now), false, now + 1ms);
    const auto number = recorder.begin(record_of(OpKind::barrier, 1), 9, group, false, now);
    const board::Wait wait{.number = number, .rank = 1, .how = board::wait_for_any};
    recorder.show_waits(std::span(&wait, 1), now);
    recorder.traffic(0).count_received(1000);
    RankReport report = report_of(recorder);
    report.error = "it broke";
    const std::string text = nlohmann::ordered_json(report).dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);

    const RankReport read = parse_report(text);
    EXPECT_EQ(read.world, world_name(token));
    EXPECT_EQ(read.rank, 1);
    EXPECT_EQ(read.size, 3);
    EXPECT_EQ(read.error, "it broke");
    EXPECT_EQ(read.state, ProcessState::running);
    ASSERT_EQ(read.operations.size(), 2U);
    EXPECT_TRUE(read.operations[0].under_way);
    EXPECT_TRUE(read.operations[1].failed);
    EXPECT_EQ(read.operations[1].kind, OpKind::send);
    EXPECT_EQ(read.operations[1].peer, 2);
    EXPECT_EQ(read.operations[1].call, report.operations[1].call);
    EXPECT_EQ(read.operations[1].fingerprint, report.operations[1].fingerprint);
    EXPECT_EQ(read.operations[1].ended - read.operations[1].begun, 1ms);
    EXPECT_EQ(read.taken - read.operations[0].begun, report.taken - report.operations[0].begun);
    ASSERT_EQ(read.groups.size(), 1U);
    EXPECT_EQ(read.groups[0].reached, 1U);
    ASSERT_EQ(read.waits.size(), 1U);
    EXPECT_TRUE(read.waits[0].any);
    ASSERT_EQ(read.traffic.size(), 1U);
    EXPECT_EQ(read.traffic[0].received, 1000U);
}

// Where a whole number belongs; read as one, it would be undefined behaviour.
TEST(RankReport, NumbersThatFitIntoNoIntegerAreRefused) {
    const Recorder recorder(1, 3);
    nlohmann::ordered_json json;
    to_json(json, report_of(recorder));
    for (const char* const key : {"rank", "size", "pid", "begun", "taken_unix_ns"}) {
        auto other = json;
        other[key] = 1.7e22;
        test::expect_invalid([&] { static_cast<void>(parse_report(other.dump())); }, {"number"});
    }
}

TEST(RankReport, OtherTextsAreRefused) {
    for (const char* text : {"", "{", "[]", "{}", "{\"job\": 1}", "null", "\xff"})
        EXPECT_THROW(static_cast<void>(parse_report(text)), Error) << text;
    nlohmann::ordered_json json = report_of(Recorder(0));
    EXPECT_NO_THROW(static_cast<void>(parse_report(json.dump())));
    json["taken_unix_ns"] = -9'000'000'000'000'000'000;
    EXPECT_NO_THROW(static_cast<void>(parse_report(json.dump())));
    json["rank"] = 5;
    EXPECT_THROW(static_cast<void>(parse_report(json.dump())), Error);
    json["rank"] = 0;
    json["operations"] = {{{"kind", "all_reduce"}}};
    EXPECT_THROW(static_cast<void>(parse_report(json.dump())), Error);
}

TEST(RankReport, AWorldsNameTellsNothingOfItsToken) {
    EXPECT_EQ(world_name({}), "");
    EXPECT_EQ(world_name(token).size(), 8U);
    EXPECT_NE(world_name(token).substr(0, 2), "07");
    EXPECT_EQ(world_name(token), world_name(token));
    EXPECT_NE(world_name(token), world_name({std::byte{8}}));
}

}  // namespace
}  // namespace trireme
