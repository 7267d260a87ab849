// Ranks that cannot look at each other's boards, as on different hosts: what they put into the
// store takes the boards' place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "observe/board_view.h"
#include "observe/excerpt.h"
#include "observe/recorder.h"
#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::Processes;

TEST(Excerpt, ShowsWhatTheBoardShows) {
    const auto now = Recorder::Clock::now();
    Recorder recorder(5);
    OpRecord record{.kind = OpKind::all_reduce,
                    .dtype = Dtype::float32,
                    .reduce = ReduceOp::Kind::sum,
                    .count = 8,
                    .sequence = 1,
                    .file = "a/train.cpp",
                    .line = 7};
    record.algorithm = "ring";
    const std::uint16_t group = recorder.number_of("dp");
    const auto first = recorder.begin(record, 3, group, true, now - 2s);
    // So many that the first is not among the last, but it is still under way.
    for (std::uint64_t i = 0; i < 500; ++i) {
        record.sequence = 2 + i;
        recorder.end(recorder.begin(record, 4, group, false, now - 1s), true, now - 1s);
    }
    const board::Wait wait{.number = first, .rank = 2};
    recorder.show_waits({&wait, 1}, now);

    // The other host's clock is an hour ahead.
    const auto read = read_excerpt(make_excerpt(recorder.shown(), 9, now), 5, now + 1h);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->beat, 9U);
    auto copy = read_excerpt(make_excerpt(recorder.shown(), 9, now), 5, now + 1h);
    const BoardView view = BoardView::of_excerpt(std::move(copy->memory));
    const auto under_way = view.under_way();
    ASSERT_EQ(under_way.size(), 1U);
    EXPECT_EQ(under_way[0].call, "all_reduce #1 float32[8] sum (train.cpp:7)");
    EXPECT_EQ(under_way[0].group, "dp");
    EXPECT_EQ(under_way[0].begun, now - 2s + 1h);
    EXPECT_TRUE(under_way[0].blocking);
    ASSERT_TRUE(view.last_ended());
    EXPECT_EQ(view.last_ended()->sequence, 501U);
    EXPECT_EQ(view.last_ended()->ended, now - 1s + 1h);
    EXPECT_TRUE(view.has_reached(4, 501));
    EXPECT_FALSE(view.has_reached(3, 2));
    EXPECT_EQ(view.waits().count, 1U);
    EXPECT_EQ(view.waits().waits[0].rank, 2);
    EXPECT_FALSE(view.find(4, 2)) << "too long ago";
}

TEST(Excerpt, OtherBytesAreNone) {
    const auto now = Recorder::Clock::now();
    const Recorder recorder(1);
    const std::string bytes = make_excerpt(recorder.shown(), 1, now);
    EXPECT_TRUE(read_excerpt(bytes, 1, now));
    EXPECT_FALSE(read_excerpt(bytes, 2, now));
    EXPECT_FALSE(read_excerpt("", 1, now));
    EXPECT_FALSE(read_excerpt(bytes.substr(0, bytes.size() / 2), 1, now));
    EXPECT_FALSE(read_excerpt("\xdd\xff\xff\xff\xff", 1, now)) << "an array of 2^32 - 1";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::string other = bytes;
        other[i] = static_cast<char>(other[i] ^ 0x55);
        static_cast<void>(read_excerpt(other, 1, now));
    }
}

// From here on, this process's memory and descriptors cannot be looked at by others of its user.
void hide() {
    constexpr uid_t nobody = 65534;
    if ((::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) ||
        ::prctl(PR_SET_DUMPABLE, 0) != 0)
        throw std::runtime_error("cannot hide");
}

class Remote : public testing::Test {
protected:
    Remote() { std::filesystem::permissions(folder_ / "", std::filesystem::perms::all); }

    World join(int rank, int size) const {
        hide();
        World world =
            World::create(file_store(folder_ / "store"), rank, size, test_options(Transport::tcp));
        world.group().barrier();
        return world;
    }

private:
    test::TempDir folder_;
};

// 0 if the call fails so.
int expect(ErrorCode code, const std::vector<std::string>& texts,
           const std::function<void()>& call) {
    try {
        call();
        return 1;
    } catch (const Error& error) {
        const std::string said = error.what();
        bool right = error.code() == code;
        for (const std::string& text : texts) right = right && said.find(text) != said.npos;
        if (right) return 0;
        std::fprintf(stderr, "%s: %s\n", name(error.code()), error.what());
        return 2;
    }
}

TEST_F(Remote, WhoeverIsMissingIsSeenInItsOwnCode) {
    Processes ranks(3, [&](int rank) {
        const World world = join(rank, 3);
        if (rank == 2) {
            static_cast<void>(world.store().get("done", 60s));
            return 0;
        }
        float x = 0;
        const int result =
            expect(ErrorCode::timeout,
                   {"waited", "for rank 2", "rank 2 is in user code for ", "barrier #1"},
                   [&] { world.group().with(5s).all_reduce(x); });
        world.store().set("done", "");
        return result;
    });
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.wait(rank), 0) << rank;
}

TEST_F(Remote, CircleIsFound) {
    Processes ranks(3, [&](int rank) {
        const World world = join(rank, 3);
        const Group one = world.group({0, 1, 2}, "one");
        const Group two = world.group({0, 1, 2}, "two");
        float x = 0;
        const int result = expect(ErrorCode::deadlock, {"rank 0 is in ", "rank 1 is in ", "two"},
                                  [&] { (rank == 1 ? two : one).all_reduce(x); });
        world.store().set(std::to_string(rank), "");
        const std::string all[] = {"0", "1", "2"};
        world.store().wait(all, 60s);
        return result;
    });
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ranks.wait(rank), 0) << rank;
}

TEST_F(Remote, StoppedIsSilentNotDead) {
    Processes ranks(2, [&](int rank) {
        const World world = join(rank, 2);
        if (rank == 1) {
            std::this_thread::sleep_for(1500ms);  // it has put up its board once
            std::raise(SIGSTOP);
            return 0;
        }
        float x = 0;
        return expect(ErrorCode::timeout, {"rank 1 has not been heard of for "},
                      [&] { world.group().with(9s).all_reduce(x); });
    });
    EXPECT_EQ(ranks.wait(0), 0);
}

}  // namespace
}  // namespace trireme
