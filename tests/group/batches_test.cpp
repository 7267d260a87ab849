// Many messages at once, to oneself and to everybody, with and without a counterpart.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using test::expect_error;
using test::expect_invalid;

constexpr Transport transports[] = {Transport::shm, Transport::tcp};

/// Element i of message `number` from one rank to another.
int value(int from, int to, int number, std::size_t i = 0) {
    return ((from * 8 + to) * 4096 + number) * 64 + static_cast<int>(i % 64);
}

std::vector<int> message(int from, int to, int number, std::size_t count) {
    std::vector<int> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(from, to, number, i);
    return values;
}

/// Messages of `counts[k]` elements between every two ranks, and from every rank to itself, all
/// started in an order of this rank's own as far as messages of one pair may be reordered.
void exchange_all(const Group& group, const std::vector<std::size_t>& counts, unsigned seed) {
    const int ranks = group.size();
    const int rank = group.rank();
    struct Part {
        int peer;
        bool receives;
        std::vector<std::vector<int>> data;
        std::size_t next = 0;
    };
    std::vector<Part> parts;
    std::vector<std::size_t> order;
    for (int peer = 0; peer < ranks; ++peer)
        for (const bool receives : {false, true}) {
            Part part{peer, receives, {}};
            for (std::size_t k = 0; k < counts.size(); ++k)
                part.data.push_back(receives ? std::vector<int>(counts[k], -1)
                                             : message(rank, peer, static_cast<int>(k), counts[k]));
            order.insert(order.end(), counts.size(), parts.size());
            parts.push_back(std::move(part));
        }
    std::mt19937 random(seed * 31 + static_cast<unsigned>(rank));
    std::ranges::shuffle(order, random);

    std::vector<Work> batch;
    for (const std::size_t index : order) {
        Part& part = parts[index];
        std::vector<int>& data = part.data[part.next++];
        batch.push_back(part.receives ? group.recv_async(data, Peer{part.peer})
                                      : group.send_async(data, Peer{part.peer}));
    }
    std::ranges::shuffle(batch, random);
    wait_all(batch);
    for (const Part& part : parts) {
        if (!part.receives) continue;
        for (std::size_t k = 0; k < counts.size(); ++k)
            ASSERT_EQ(part.data[k], message(part.peer, rank, static_cast<int>(k), counts[k]));
    }
}

TEST(Cases, C20_BatchOfAllPairsWithOneself) {
    for (const Transport transport : transports)
        for (const int ranks : {1, 2, 4})
            run_ranks(
                ranks,
                [](World& world) {
                    for (std::size_t length = 1; length <= 3; ++length)
                        for (unsigned round = 0; round < 10; ++round)
                            exchange_all(world.group(), std::vector<std::size_t>(length, 1), round);
                    exchange_all(world.group(), {1, 2, 3}, 1);
                    exchange_all(world.group(), {0, 100'000, 1, 300'000}, 2);
                },
                test_options(transport));
}

TEST(Cases, C20_BlockingSendToOneself) {
    for (const std::size_t count : {0, 1, 3, 1'000'000})
        run_ranks(2, [count](World& world) {
            const Group group = world.group();
            const std::vector<int> sent = message(1, 2, 3, count);
            std::vector<int> received(count, -1);
            const Peer self{group.rank()};
            const std::string own = "rank " + std::to_string(group.rank());
            // With a receive that was started, it is delivered, whatever its size.
            Work receive = group.recv_async(received, self);
            group.send(sent, self);
            receive.wait();
            EXPECT_EQ(received, sent);

            // Without, a short one waits in memory, and a long one is refused at once.
            std::ranges::fill(received, -1);
            if (count < 1000) {
                group.send(sent, self);
            } else {
                expect_invalid([&] { group.send(sent, self); }, {"send", own, "recv_async"});
                Work send = group.send_async(sent, self);
                group.recv(received, self);
                send.wait();
                EXPECT_EQ(received, sent);
                expect_invalid([&] { group.recv(received, self); }, {"recv", own});
                group.barrier();
                return;
            }
            group.recv(received, self);
            EXPECT_EQ(received, sent);
            expect_invalid([&] { group.recv(received, self); }, {"recv", own});
            group.barrier();
        });
}

TEST(Cases, C21_RingAsTheFirstOperation) {
    for (const Transport transport : transports)
        run_ranks(
            4,
            [](World& world) {
                const Group group = world.group();
                const int rank = group.rank();
                const int next = (rank + 1) % 4;
                const int last = (rank + 3) % 4;
                const std::vector<int> sent = message(rank, next, 0, 10'000);
                std::vector<int> received(sent.size());
                // The receive comes first on all ranks.
                std::vector<Work> batch;
                batch.push_back(group.recv_async(received, Peer{last}));
                batch.push_back(group.send_async(sent, Peer{next}));
                wait_all(batch);
                EXPECT_EQ(received, message(last, rank, 0, 10'000));
            },
            test_options(transport));
}

TEST(Cases, C21_TwoThousandOperationsInABatch) {
    for (const Transport transport : transports)
        run_ranks(
            4,
            [](World& world) {
                // 4 peers x 2 directions x 250 messages on each rank, oneself among them.
                std::vector<std::size_t> counts(250);
                for (std::size_t k = 0; k < counts.size(); ++k)
                    counts[k] = k % 50 == 0 ? 20'000 : k % 7;
                exchange_all(world.group(), counts, 5);
                world.group().barrier();
            },
            test_options(transport));
}

TEST(Cases, C21_LargeMessagesThatCross) {
    constexpr std::size_t count = 16U << 20U;  // 64 MiB
    for (const Transport transport : transports)
        run_ranks(
            2,
            [](World& world) {
                const Group group = world.group();
                const int rank = group.rank();
                std::vector<int> sent(count);
                std::iota(sent.begin(), sent.end(), rank);
                std::vector<int> received(count);
                Work send = group.send_async(sent, Peer{1 - rank});
                group.recv(received, Peer{1 - rank});
                send.wait();
                std::iota(sent.begin(), sent.end(), 1 - rank);
                EXPECT_TRUE(received == sent);
            },
            test_options(transport));
}

// Blocking sends on both sides cannot end: they say so at their deadline.
TEST(Cases, C21_LargeBlockingSendsThatCross) {
    run_ranks(2, [](World& world) {
        const Group group = world.group().with(Timeout(500));
        const std::vector<int> sent(16U << 20U);
        expect_error(ErrorCode::timeout, {"send", "int32[16777216] to rank"},
                     [&] { group.send(sent, Peer{1 - group.rank()}); });
    });
}

TEST(Cases, C21_OneReceiveWithoutItsSend) {
    for (const Transport transport : transports)
        for (const std::size_t count : {std::size_t{3}, std::size_t{200'000}})
            run_ranks(
                4,
                [count](World& world) {
                    const Group group = world.group();
                    const int rank = group.rank();
                    std::vector<std::vector<int>> sent;
                    std::vector<std::vector<int>> received;
                    for (int peer = 0; peer < 4; ++peer) {
                        sent.push_back(message(rank, peer, 0, count));
                        received.emplace_back(count, -1);
                    }
                    std::vector<int> extra(count, -1);
                    std::vector<Work> batch;
                    // Rank 2 waits for a second message of rank 1, in the midst of the others.
                    for (int peer = 0; peer < 4; ++peer) {
                        const auto i = static_cast<std::size_t>(peer);
                        batch.push_back(group.recv_async(received[i], Peer{peer}));
                        if (rank == 2 && peer == 1)
                            batch.push_back(group.with(Timeout(2'000)).recv_async(extra, Peer{1}));
                        batch.push_back(group.send_async(sent[i], Peer{peer}));
                    }
                    if (rank == 2) {
                        expect_error(ErrorCode::timeout, {"recv #2", "from rank 1", "for rank 1"},
                                     [&] { wait_all(batch); });
                    } else {
                        wait_all(batch);
                        // The group has failed for all, with the same words.
                        expect_error(ErrorCode::timeout, {"recv #2", "from rank 1", "for rank 1"},
                                     [&] { group.barrier(); });
                    }
                    for (int peer = 0; peer < 4; ++peer)
                        EXPECT_EQ(received[static_cast<std::size_t>(peer)],
                                  message(peer, rank, 0, count));
                    EXPECT_EQ(extra, std::vector<int>(count, -1));
                },
                test_options(transport));
}

}  // namespace
}  // namespace trireme
