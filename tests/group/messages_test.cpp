// Point to point beyond one send and its receive: any source, oneself, batches, neighbours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using test::expect_invalid;

class Messages : public testing::TestWithParam<Transport> {
protected:
    static void run(int ranks, const std::function<void(World&)>& body) {
        run_ranks(ranks, body, test_options(GetParam()));
    }
};

TEST_P(Messages, FromAnySourceEachOnceAndInOrder) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
        run(4, [&](World& world) {
            const Group group = world.group();
            constexpr int each = 20;
            if (world.rank() != 1) {
                for (int i = 0; i < each; ++i)
                    group.send(std::vector<int>(count, 100 * world.rank() + i), Peer{1}, Tag{3});
                return;
            }
            std::array<int, 4> next{};
            std::vector<int> data(count);
            for (int i = 0; i < 3 * each; ++i) {
                const int source = group.recv(data, any_source, Tag{3});
                ASSERT_TRUE(source == 0 || source == 2 || source == 3);
                const int expected = 100 * source + next[static_cast<std::size_t>(source)]++;
                ASSERT_EQ(data, std::vector<int>(count, expected));
            }
        });
    }
}

TEST_P(Messages, StartedFromAnySource) {
    run(3, [](World& world) {
        const Group group = world.group();
        if (world.rank() != 0) {
            group.barrier();  // the receives are there before the messages
            group.send(world.rank() * 10, Peer{0});
            group.send(world.rank() * 10 + 1, Peer{0}, Tag{1});
            return;
        }
        std::array<int, 2> values{};
        int tagged = 0;
        std::vector<Work> works;
        for (int& value : values) works.push_back(group.recv_async(value, any_source));
        // A receive from a named rank under another tag is not disturbed.
        works.push_back(group.recv_async(tagged, Peer{2}, Tag{1}));
        group.barrier();
        wait_all(works);
        EXPECT_EQ(tagged, 21);
        EXPECT_EQ(std::set<int>({works[0].source(), works[1].source()}), (std::set<int>{1, 2}));
        for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(values[i], works[i].source() * 10);
        int last = 0;
        EXPECT_EQ(group.recv(last, any_source, Tag{1}), 1);
        EXPECT_EQ(last, 11);
    });
}

TEST_P(Messages, ANamedReceiveGoesBeforeOneFromAnywhere) {
    run(2, [](World& world) {
        const Group group = world.group();
        if (world.rank() == 1) {
            group.barrier();
            group.send(1, Peer{0});
            group.send(2, Peer{0});
            return;
        }
        int anywhere = 0;
        int named = 0;
        Work first = group.recv_async(anywhere, any_source);
        Work second = group.recv_async(named, Peer{1});
        group.barrier();
        first.wait();
        second.wait();
        EXPECT_EQ(named, 1);
        EXPECT_EQ(anywhere, 2);
    });
}

TEST_P(Messages, WaitingForAnySourceTimesOutNamingAll) {
    run(3, [](World& world) {
        if (world.rank() != 0) return world.group({1, 2}).barrier();
        int value = 0;
        try {
            world.group().with(100ms).recv(value, any_source);
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::timeout);
            EXPECT_EQ(error.ranks(), (std::vector<int>{1, 2}));
            EXPECT_THAT(error.what(), testing::HasSubstr("from any rank"));
        }
    });
}

TEST_P(Messages, ToOneself) {
    run(2, [](World& world) {
        const Group group = world.group();
        const Peer self{group.rank()};
        std::vector<int> large(200'000, 7);
        std::vector<int> arrived(large.size());
        group.send(5, self);  // small: buffered
        int small = 0;
        group.recv(small, self);
        EXPECT_EQ(small, 5);
        Work receive = group.recv_async(arrived, self);
        group.send(large, self);
        receive.wait();
        EXPECT_EQ(arrived, large);
        // With nobody on the other side they would wait for ever.
        expect_invalid([&] { group.send(large, self); }, {"would wait for itself", "recv_async"});
        expect_invalid([&] { group.recv(small, self); }, {"would wait for itself", "send_async"});
        // From any source, where there is no other.
        const Group alone = group.subgroup({group.rank()});
        expect_invalid([&] { alone.recv(small, any_source); }, {"would wait for itself"});
        alone.send(6, Peer{0});
        EXPECT_EQ(alone.recv(small, any_source), 0);
        EXPECT_EQ(small, 6);
        group.barrier();
    });
}

TEST_P(Messages, WaitAnyFindsTheOneThatEnds) {
    run(2, [](World& world) {
        const Group group = world.group();
        if (world.rank() == 1) {
            for (const int tag : {2, 0, 1}) {
                int answer = 0;
                group.send(tag, Peer{0}, Tag{tag});
                group.recv(answer, Peer{0});  // so that one at a time is under way
            }
            return;
        }
        std::array<int, 3> values{-1, -1, -1};
        std::vector<Work> works;
        for (int tag = 0; tag < 3; ++tag)
            works.push_back(
                group.recv_async(values[static_cast<std::size_t>(tag)], Peer{1}, Tag{tag}));
        for (const std::size_t expected : {2, 0, 1}) {
            const std::size_t ended = wait_any(works);
            // With one taken out, the others have moved up.
            EXPECT_EQ(ended, works.size() == 3 ? expected : 0);
            works.erase(works.begin() + static_cast<std::ptrdiff_t>(ended));
            group.send(0, Peer{1});
        }
        EXPECT_EQ(values, (std::array<int, 3>{0, 1, 2}));
        expect_invalid([] { static_cast<void>(wait_any({})); }, {"nothing to wait for"});
    });
}

TEST_P(Messages, NeighboursOnAnAxis) {
    for (const Ends ends : {Ends::open, Ends::periodic}) {
        for (const int length : {1, 2, 3}) {
            run(2 * length, [&](World& world) {
                const Mesh mesh = world.mesh({{"row", length}, {"column", 2}});
                const int at = mesh.coordinate("row");
                // A rank's message says which row it comes from and which way it goes.
                const std::vector<int> down(3, 10 * at);
                const std::vector<int> up(5, 10 * at + 1);
                std::vector<int> from_before(5, -1);
                std::vector<int> from_after(3, -1);
                mesh.exchange("row", down, up, from_before, from_after, ends);
                const bool has_before = ends == Ends::periodic || at > 0;
                const bool has_after = ends == Ends::periodic || at + 1 < length;
                const int before = (at - 1 + length) % length;
                const int after = (at + 1) % length;
                EXPECT_EQ(from_before, std::vector<int>(5, has_before ? 10 * before + 1 : -1));
                EXPECT_EQ(from_after, std::vector<int>(3, has_after ? 10 * after : -1));
            });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Each, Messages, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& one) {
                             return one.param == Transport::shm ? "shm" : "tcp";
                         });

}  // namespace
}  // namespace trireme
