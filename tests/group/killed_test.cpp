// Ranks that are processes, one of which is killed.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int killed_rank = 2;

enum class Doing { waiting_for_it, a_large_all_reduce, many_calls };

// 0, or what went wrong.
int survive(const World& world, Doing doing) {
    const Group group = world.group();
    std::vector<float> data(doing == Doing::a_large_all_reduce ? 2'000'000 : 10, 0);
    try {
        if (doing == Doing::waiting_for_it) group.recv(data, Peer{killed_rank});
        for (;;) group.all_reduce(data);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::peer_lost || error.ranks() != std::vector{killed_rank}) {
            std::fprintf(stderr, "rank %d: %s: %s\n", world.rank(), name(error.code()),
                         error.what());
            return 1;
        }
    }
    try {
        group.barrier();
        return 2;
    } catch (const Error&) {
    }
    // The others go on without it.
    const Group rest = world.group({0, 1, 3});
    int value = 1;
    rest.all_reduce(value);
    return value == 3 ? 0 : 3;
}

class Killed : public testing::TestWithParam<std::tuple<Transport, Doing>> {};

TEST_P(Killed, IsNamedByAllOthersSoon) {
    const Transport transport = std::get<0>(GetParam());
    const Doing doing = std::get<1>(GetParam());
    const test::TempDir folder;
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    test::Processes ranks(4, [&](int rank) {
        const World world =
            World::create(file_store(folder / "store"), rank, 4, test_options(transport));
        world.group().barrier();
        [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
        if (rank == killed_rank && doing == Doing::waiting_for_it) ::pause();
        return survive(world, doing);
    });
    for (int i = 0; i < 4; ++i) {
        char one = 0;
        ASSERT_EQ(::read(ready[0], &one, 1), 1);
    }
    std::this_thread::sleep_for(100ms);
    const auto start = Clock::now();
    ranks.signal(killed_rank, SIGKILL);
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(ranks.wait(rank), rank == killed_rank ? -SIGKILL : 0) << rank;
    // A second is promised; a loaded machine gets more. The timeout is a minute.
    EXPECT_LT(Clock::now() - start, 15s);
    ::close(ready[0]);
    ::close(ready[1]);
}

std::string case_name(const testing::TestParamInfo<Killed::ParamType>& suite_info) {
    const auto [transport, doing] = suite_info.param;
    const std::vector<std::string> names{"waiting", "large", "many"};
    return (transport == Transport::shm ? "shm_" : "tcp_") + names[static_cast<std::size_t>(doing)];
}

INSTANTIATE_TEST_SUITE_P(Each, Killed,
                         testing::Combine(testing::Values(Transport::shm, Transport::tcp),
                                          testing::Values(Doing::waiting_for_it,
                                                          Doing::a_large_all_reduce,
                                                          Doing::many_calls)),
                         case_name);

}  // namespace
}  // namespace trireme
