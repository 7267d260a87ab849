// How ranks are found that belong together.

#include "observe/job.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "observe/recorder.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Job, IsWhatIsJoinedByALauncherAWorldOrAProcess) {
    EXPECT_THAT(number_jobs({}), IsEmpty());
    EXPECT_THAT(number_jobs({{.pid = 1}, {.pid = 2}}), ElementsAre(0, 1));
    EXPECT_THAT(
        number_jobs({{.pid = 1, .job = "a"}, {.pid = 2, .job = "b"}, {.pid = 3, .job = "a"}}),
        ElementsAre(0, 1, 0));
    EXPECT_THAT(number_jobs({{.pid = 1, .world = "u"}, {.pid = 2, .world = "u"}, {.pid = 3}}),
                ElementsAre(0, 0, 1));
    EXPECT_THAT(number_jobs({{.pid = 1, .world = "u"}, {.pid = 1, .world = "v"}}),
                ElementsAre(0, 0));
    // Two that are apart until a third one belongs to both.
    EXPECT_THAT(number_jobs({{.pid = 1, .world = "u"},
                             {.pid = 2, .world = "v"},
                             {.pid = 3, .world = "u"},
                             {.pid = 3, .world = "v"},
                             {.pid = 4, .world = "w"}}),
                ElementsAre(0, 0, 0, 0, 1));
}

std::size_t boards_of_this_process() {
    std::size_t count = 0;
    for (const FoundBoard& board : find_boards()) count += board.pid == ::getpid() ? 1 : 0;
    return count;
}

TEST(Job, BoardsAreFoundWhileTheyAreThere) {
    EXPECT_EQ(boards_of_this_process(), 0U);
    {
        const Recorder one(0, 2);
        const Recorder two(1, 2);
        EXPECT_EQ(boards_of_this_process(), 2U);
        // A forked child holds copies of the descriptors, but no board is its own.
        const pid_t child = ::fork();
        if (child == 0) {
            ::pause();
            ::_exit(0);
        }
        EXPECT_EQ(boards_of_this_process(), 2U);
        for (const FoundBoard& board : find_boards()) EXPECT_NE(board.pid, child);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    EXPECT_EQ(boards_of_this_process(), 0U);
}

TEST(Job, AProcessWithSeveralRanksIsOne) {
    run_ranks(3, [](World& world) {
        world.group().barrier();
        if (world.rank() == 0) {
            std::size_t found = 0;
            for (const RunningJob& job : find_jobs()) {
                if (job.pid != ::getpid()) continue;
                ++found;
                EXPECT_EQ(job.boards.size(), 3U);
                EXPECT_NE(job.what.find("job_test"), std::string::npos);
                const auto reports = make_reports(job.boards, 10);
                for (const RankReport& report : reports)
                    EXPECT_EQ(report.world, reports.front().world);
            }
            EXPECT_EQ(found, 1U);
        }
        world.group().barrier();
    });
}

RankReport::PeerTraffic traffic_with(const RankReport& report, int peer) {
    const auto found = std::ranges::find(report.traffic, peer, &RankReport::PeerTraffic::peer);
    return found != report.traffic.end() ? *found : RankReport::PeerTraffic();
}

// What one rank has sent to another is what that one has received, whoever moved it.
TEST(Job, BothEndsOfALinkCountTheSame) {
    for (const char* algorithm : {"direct", "ring"}) {
        WorldOptions options = test_options();
        options.algorithm = std::string("all_reduce:") + algorithm;
        run_ranks(
            3,
            [&](World& world) {
                std::vector<float> data(100'001, 1);
                world.group().all_reduce(data);
                world.group().barrier();
                if (world.rank() == 0) {
                    const auto boards = find_boards();
                    std::map<int, RankReport> reports;
                    for (const FoundBoard& board : boards)
                        if (board.pid == ::getpid())
                            reports[board.view.rank()] = make_report(board.view, board.pid, 1);
                    ASSERT_EQ(reports.size(), 3U);
                    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2)}) {
                        const auto sent = traffic_with(reports[from], to).sent;
                        EXPECT_EQ(sent, traffic_with(reports[to], from).received) << algorithm;
                        EXPECT_GE(sent, data.size() * sizeof(float) / 2) << algorithm;
                        EXPECT_EQ(traffic_with(reports[from], to).received,
                                  traffic_with(reports[to], from).sent)
                            << algorithm;
                    }
                }
                world.group().barrier();
            },
            options);
    }
}

TEST(Job, AnAncestorIsAProcessAbove) {
    EXPECT_TRUE(is_within(::getpid(), ::getpid()));
    EXPECT_TRUE(is_within(::getpid(), ::getppid()));
    EXPECT_FALSE(is_within(::getppid(), ::getpid()));
    EXPECT_FALSE(is_within(999'999'999, 1));
}

}  // namespace
}  // namespace trireme
