// A rank's board, as its peers read it.

#include "observe/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "observe/board_view.h"

namespace trireme {
namespace {

constexpr shm::Token token{std::byte{7}};

OpRecord record_of(OpKind kind, std::uint64_t sequence) {
    return {.kind = kind,
            .dtype = Dtype::float32,
            .reduce = ReduceOp::Kind::max,
            .count = 1024,
            .sequence = sequence,
            .algorithm = "ring",
            .file = "/somewhere/train.cpp",
            .line = 88};
}

TEST(Recorder, ShowsWhatIsUnderWay) {
    Recorder recorder(3);
    recorder.set_token(token);
    const auto view = BoardView::open(recorder.address(), 3, token);
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->under_way().empty());
    EXPECT_FALSE(view->last_ended());

    const auto start = Recorder::Clock::now();
    const std::uint16_t group = recorder.number_of("tp0");
    const auto first = recorder.begin(record_of(OpKind::all_reduce, 41), 9, group, true, start);
    const auto second = recorder.begin(record_of(OpKind::barrier, 42), 9, group, false, start);
    ASSERT_EQ(view->under_way().size(), 2U);
    const Sighting seen = view->under_way().back();
    EXPECT_EQ(seen.call, "all_reduce #41 float32[1024] max (train.cpp:88)");
    EXPECT_EQ(seen.group, "tp0");
    EXPECT_TRUE(seen.blocking);
    EXPECT_EQ(seen.begun, std::chrono::time_point_cast<std::chrono::nanoseconds>(start));

    recorder.end(first, true, start + std::chrono::seconds(1));
    ASSERT_EQ(view->under_way().size(), 1U);
    EXPECT_EQ(view->under_way().front().number, second);
    EXPECT_EQ(view->find(9, 41)->ended - start, std::chrono::seconds(1));
    EXPECT_FALSE(view->find(9, 43));
    EXPECT_FALSE(view->find(8, 41));
}

TEST(Recorder, KeepsTheLastOnes) {
    Recorder recorder(0);
    const auto view = BoardView::open(recorder.address(), 0, {});
    ASSERT_TRUE(view);
    const auto start = Recorder::Clock::now();
    const auto oldest = recorder.begin(record_of(OpKind::all_reduce, 1), 1, 0, true, start);
    EXPECT_TRUE(view->has_reached(1, 1));
    EXPECT_FALSE(view->has_reached(1, 2));
    EXPECT_FALSE(view->has_reached(2, 1));
    for (std::uint64_t i = 2; i <= board::slots + 10; ++i)
        recorder.end(recorder.begin(record_of(OpKind::barrier, i), 1, 0, true, start), true, start);
    EXPECT_FALSE(view->find(1, 10));
    EXPECT_TRUE(view->find(1, 11));
    EXPECT_TRUE(view->has_reached(1, 1));
    // Of a stream that shares its place.
    const auto newest = recorder.begin(record_of(OpKind::barrier, 3), 257, 0, true, start);
    EXPECT_TRUE(view->has_reached(1, board::slots + 10));
    EXPECT_FALSE(view->has_reached(1, board::slots + 11));
    EXPECT_TRUE(view->has_reached(257, 3));
    recorder.end(newest, true, start);
    // What has been written over is not ended.
    recorder.end(oldest, false, start);
    EXPECT_TRUE(view->under_way().empty());
    EXPECT_EQ(view->last_ended()->sequence, 3U);
}

TEST(Recorder, ShowsWhatIsWaitedForAsFarAsThereIsRoom) {
    Recorder recorder(0);
    const auto view = BoardView::open(recorder.address(), 0, {});
    std::vector<board::Wait> waits;
    for (int rank = 0; rank < 100; ++rank) waits.push_back({.number = 5, .rank = rank});
    recorder.show_waits(waits, Recorder::Clock::now());
    const board::Waits seen = view->waits();
    ASSERT_EQ(seen.count, board::most_waits);
    EXPECT_EQ(seen.waits[61].rank, 61);
    recorder.show_waits({}, Recorder::Clock::now());
    EXPECT_EQ(view->waits().count, 0U);
}

TEST(Recorder, NamesAreCutAndRunOut) {
    Recorder recorder(0);
    const std::string letters(200, 'x');
    EXPECT_EQ(recorder.number_of(letters), recorder.number_of(letters.substr(0, 63)));
    for (int i = 0; i < 2000; ++i) static_cast<void>(recorder.number_of(std::to_string(i)));
    EXPECT_EQ(recorder.number_of("one more"), 0);
    EXPECT_NE(recorder.number_of("17"), 0);
}

TEST(Recorder, IsNotMistakenForAnother) {
    Recorder recorder(3);
    recorder.set_token(token);
    EXPECT_FALSE(BoardView::open(recorder.address(), 2, token));
    EXPECT_FALSE(BoardView::open(recorder.address(), 3, {}));
    EXPECT_FALSE(BoardView::open({::getpid(), 0}, 3, token));
    EXPECT_FALSE(BoardView::open({::getpid(), -1}, 3, token));
    EXPECT_FALSE(BoardView::open(BoardAddress::parse("12"), 3, token));
    EXPECT_FALSE(BoardView::open(BoardAddress::parse("x:1"), 3, token));
    EXPECT_TRUE(BoardView::open(BoardAddress::parse(recorder.address().text()), 3, token));
}

TEST(Recorder, MayBeReadWhileItIsWritten) {
    Recorder recorder(0);
    const auto view = BoardView::open(recorder.address(), 0, {});
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (std::uint64_t i = 1; !stop; ++i) {
            OpRecord record = record_of(OpKind::all_reduce, i);
            record.count = i;
            const auto now = Recorder::Clock::time_point(std::chrono::nanoseconds(i));
            recorder.end(recorder.begin(record, 1, 0, true, now), true, now);
        }
    });
    for (int looks = 0; looks < 2000;) {
        const auto seen = view->last_ended();
        if (!seen) continue;
        ++looks;
        const auto number = static_cast<std::int64_t>(seen->number);
        EXPECT_EQ(seen->begun.time_since_epoch().count(), number);
        EXPECT_NE(seen->call.find("[" + std::to_string(number) + "]"), std::string::npos);
    }
    stop = true;
    writer.join();
}

}  // namespace
}  // namespace trireme
