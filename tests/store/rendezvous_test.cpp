// Ranks, as threads, that find one another, and what they hear when they cannot.

#include "store/rendezvous.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>

#include "store/support.h"

namespace trireme::test {
namespace {

std::uint16_t free_port() { return TcpStoreServer().port(); }

std::string tcp_url(std::uint16_t port) { return "tcp://127.0.0.1:" + std::to_string(port); }

/// What a world does with its store, in small: everybody reads what everybody wrote.
void exchange(const Rendezvous& meeting) {
    const auto key = [](int rank) { return "hello/" + std::to_string(rank); };
    meeting.store->set(key(meeting.rank), std::to_string(meeting.rank));
    for (int rank = 0; rank < meeting.size; ++rank) {
        EXPECT_EQ(meeting.store->get(key(rank), plenty), std::to_string(rank));
    }
}

TEST(Rendezvous, RankZeroHostsATcpStore) {
    const std::string url = tcp_url(free_port());
    std::barrier last(4);
    run_threads(4, [&](int rank) {
        const Rendezvous meeting = rendezvous(url, rank, 4, plenty);
        EXPECT_EQ(meeting.rank, rank);
        EXPECT_EQ(meeting.size, 4);
        EXPECT_EQ(meeting.server != nullptr, rank == 0);
        await_all(meeting, plenty);
        exchange(meeting);
        last.arrive_and_wait();
    });
}

TEST(Rendezvous, EnvironmentNamesTheHostOrTheLaunchersStore) {
    const std::string port = std::to_string(free_port());
    const Environment base({{"RANK", "0"},
                            {"WORLD_SIZE", "1"},
                            {"MASTER_ADDR", "localhost"},
                            {"MASTER_PORT", port.c_str()},
                            {"TRIREME_STORE", nullptr},
                            {"TORCHELASTIC_USE_AGENT_STORE", nullptr}});
    {
        const Rendezvous meeting = rendezvous("env://", -1, -1, plenty);
        EXPECT_NE(meeting.server, nullptr);
        await_all(meeting, plenty);
        exchange(meeting);
    }
    const TcpStoreServer launcher;
    const std::string where = "127.0.0.1:" + std::to_string(launcher.port());
    const Environment launched(Environment::Variables{{"TRIREME_STORE", where.c_str()}});
    run_threads(3, [&](int rank) {
        const Rendezvous meeting = rendezvous("env://", rank, 3, plenty);
        EXPECT_EQ(meeting.server, nullptr);
        await_all(meeting, plenty);
        exchange(meeting);
    });
}

TEST(Rendezvous, WorldsFollowEachOtherInOneFile) {
    const TempDir dir;
    const std::string url = "file://" + (dir / "store");
    run_threads(3, [&](int rank) {
        for (int round = 0; round < 5; ++round) {
            const Rendezvous meeting = rendezvous(url, rank, 3, plenty);
            EXPECT_EQ(
                meeting.store->check(std::vector<std::string>{"hello/" + std::to_string(rank)}),
                false);
            await_all(meeting, plenty);
            exchange(meeting);
            if (rank < 2) {
                exchange(rendezvous(url, rank, 2, plenty));
            }
        }
    });
}

TEST(Rendezvous, WorldsFollowEachOtherOnOnePort) {
    const std::string url = tcp_url(free_port());
    for (const int size : {1, 2}) {
        run_threads(size, [&](int rank) {
            for (int round = 0; round < 20; ++round) {
                const Rendezvous meeting = rendezvous(url, rank, size, plenty);
                await_all(meeting, plenty);
                exchange(meeting);
                // The server outlives the others' last use, but not by the time that they need to
                // come back: they find it still there, and wait for the next one.
                meeting.store->set("left/" + std::to_string(rank), "");
                for (int other = 0; meeting.server != nullptr && other < size; ++other) {
                    (void)meeting.store->get("left/" + std::to_string(other), plenty);
                }
                if (rank == 0 && round % 4 == 0) {
                    std::this_thread::sleep_for(30ms);
                }
            }
        });
    }
}

TEST(Rendezvous, MissingRanksAreNamedToAll) {
    const std::string url = tcp_url(free_port());
    std::barrier last(3);
    run_threads(3, [&](int i) {
        const int rank = i == 2 ? 3 : i;  // 2 and 4 never come
        const Rendezvous meeting = rendezvous(url, rank, 5, plenty);
        try {
            // Rank 0 loses patience first, and tells the others.
            await_all(meeting, rank == 0 ? Timeout(300ms) : plenty);
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::rendezvous);
            EXPECT_EQ(std::count(error.ranks().begin(), error.ranks().end(), 2), 1);
            EXPECT_EQ(std::count(error.ranks().begin(), error.ranks().end(), 4), 1);
            EXPECT_NE(std::string(error.what()).find("of 5 ranks joined within 300 ms"),
                      std::string::npos)
                << error.what();
        }
        last.arrive_and_wait();
    });
}

TEST(Rendezvous, NobodyHostsIsAnErrorWithTheAddress) {
    const std::uint16_t port = free_port();
    expect_error(ErrorCode::rendezvous,
                 {"rank 1 of 2", "127.0.0.1:" + std::to_string(port), "refused"},
                 [&] { (void)rendezvous(tcp_url(port), 1, 2, 200ms); });
    const TempDir dir;
    expect_error_at_once(ErrorCode::store, {dir / "none/store", "errno 2"},
                         [&] { (void)rendezvous("file://" + (dir / "none/store"), 0, 2, plenty); });
}

TEST(Rendezvous, ATakenPortIsRefusedAtOnce) {
    const TcpStoreServer other;
    expect_error_at_once(ErrorCode::rendezvous,
                         {"rank 0 of 2", "127.0.0.1:" + std::to_string(other.port()), "in use"},
                         [&] { (void)rendezvous(tcp_url(other.port()), 0, 2, plenty); });
}

TEST(Rendezvous, ASecondJobOnThePortHarmsNobody) {
    const std::string url = tcp_url(free_port());
    const Rendezvous zero = rendezvous(url, 0, 2, plenty);
    const Rendezvous one = rendezvous(url, 1, 2, plenty);
    expect_error_at_once(ErrorCode::rendezvous, {"in use"},
                         [&] { (void)rendezvous(url, 0, 2, plenty); });
    // Of this process, which might make its next world.
    expect_error(ErrorCode::rendezvous, {"rank 1 of 2", "before"},
                 [&] { (void)rendezvous(url, 1, 2, 200ms); });
    run_threads(2, [&](int rank) {
        await_all(rank == 0 ? zero : one, plenty);
        exchange(rank == 0 ? zero : one);
    });
}

TEST(Rendezvous, ARankThatIsGivenTwiceIsAnErrorAtOnce) {
    const TcpStoreServer server;
    const auto store = tcp_store("127.0.0.1", server.port(), plenty);
    store->set("rendezvous/rank/1", "process 77 on another-host, 0123456789abcdef, world 1");
    expect_error_at_once(ErrorCode::rendezvous, {"rank 1", "process 77 on another-host", "same"},
                         [&] { (void)rendezvous(tcp_url(server.port()), 1, 2, plenty); });
}

TEST(Rendezvous, RanksMustAgreeOnTheSize) {
    const std::string url = tcp_url(free_port());
    const Rendezvous zero = rendezvous(url, 0, 2, plenty);
    expect_error_at_once(ErrorCode::rendezvous, {"size", "3 here", "2 for"},
                         [&] { (void)rendezvous(url, 1, 3, plenty); });
}

}  // namespace
}  // namespace trireme::test
