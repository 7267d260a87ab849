// Many calls as one: values, what cannot become one, and that it is one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using test::expect_invalid;

TEST(Coalesce, GivesWhatTheCallsGive) {
    for (const int ranks : {1, 2, 5}) {
        run_ranks(ranks, [&](World& world) {
            const Group group = world.group();
            const int rank = world.rank();
            const auto n = static_cast<std::size_t>(ranks);
            std::vector<std::vector<int>> data{{rank}, {}, std::vector<int>(100, 2 * rank)};
            std::vector<int> apart(3);
            group.coalesce([&] {
                for (auto& one : data) group.all_reduce(one);
                group.all_reduce(std::vector<int>(3, 1), apart);
                // Nothing has happened yet.
                EXPECT_EQ(data[0][0], rank);
            });
            const int sum_of_ranks = ranks * (ranks - 1) / 2;
            EXPECT_EQ(data[0], std::vector<int>(1, sum_of_ranks));
            EXPECT_EQ(data[2], std::vector<int>(100, 2 * sum_of_ranks));
            EXPECT_EQ(apart, std::vector<int>(3, ranks));

            const std::vector<int> own{rank, -rank};
            std::vector<int> gathered(2 * n);
            std::vector<std::vector<int>> listed(n, std::vector<int>(1));
            group.coalesce([&] {
                group.all_gather(own, gathered);
                group.all_gather(10 * rank, listed);
            });
            for (int other = 0; other < ranks; ++other) {
                const auto at = static_cast<std::size_t>(other);
                EXPECT_EQ(gathered[2 * at], other);
                EXPECT_EQ(gathered[2 * at + 1], -other);
                EXPECT_EQ(listed[at][0], 10 * other);
            }

            std::vector<int> wide(n);
            for (int other = 0; other < ranks; ++other)
                wide[static_cast<std::size_t>(other)] = other;
            int first = -1;
            int second = -1;
            group.coalesce([&] {
                group.reduce_scatter(wide, first);
                group.reduce_scatter(std::vector<int>(n, 3), second);
            });
            EXPECT_EQ(first, ranks * rank);
            EXPECT_EQ(second, 3 * ranks);

            std::vector<int> a(2 * n, rank);
            std::vector<int> b(2 * n);
            std::vector<int> c(n);
            group.coalesce([&] {
                group.all_to_all(a, b);
                group.all_to_all(wide, c);
            });
            for (int other = 0; other < ranks; ++other) {
                EXPECT_EQ(b[2 * static_cast<std::size_t>(other) + 1], other);
                EXPECT_EQ(c[static_cast<std::size_t>(other)], rank);
            }

            // At the root alone there is something to write.
            std::vector<int> at_root(rank == 0 ? n : 0);
            int part = -1;
            group.coalesce([&] {
                group.gather(rank, at_root, Root{0});
                group.gather(rank, at_root, Root{0});
            });
            EXPECT_EQ(at_root, rank == 0 ? wide : std::vector<int>{});
            group.coalesce([&] { group.scatter(at_root, part, Root{0}); });
            EXPECT_EQ(part, rank);
            group.coalesce([&] { group.barrier(); });
            group.coalesce([] {});
        });
    }
}

TEST(Coalesce, MessagesPassOneAnother) {
    run_ranks(3, [](World& world) {
        const Group group = world.group();
        const Peer next{(world.rank() + 1) % 3};
        const Peer before{(world.rank() + 2) % 3};
        const std::vector<int> out(1 << 20, world.rank());
        std::vector<int> in(out.size());
        group.coalesce([&] {
            group.send(out, next);  // alone it would wait for ever
            group.recv(in, before);
        });
        EXPECT_EQ(in, std::vector<int>(out.size(), before.rank));
    });
}

TEST(Coalesce, RefusesWhatCannotBecomeOne) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        std::vector<int> x(2, 1);
        std::vector<float> y(2, 1);
        const auto both = [&](auto first, auto second) {
            expect_invalid(
                [&] {
                    group.coalesce([&] {
                        first();
                        second();
                    });
                },
                {"coalesce on group"});
        };
        both([&] { group.all_reduce(x); }, [&] { group.all_reduce(y); });
        both([&] { group.all_reduce(x); }, [&] { group.all_reduce(x, max); });
        both([&] { group.all_reduce(x); }, [&] { group.broadcast(x, Root{0}); });
        both([&] { group.broadcast(x, Root{1}); }, [&] { group.broadcast(x, Root{0}); });
        both([&] { group.all_reduce(x); }, [&] { group.coalesce([] {}); });
        expect_invalid([&] { group.coalesce([&] { group.reduce_scatter(x, x); }); },
                       {"must have 2 x 2 = 4"});
        EXPECT_THROW(group.coalesce([&] {
            group.all_reduce(x);
            throw std::runtime_error("in between");
        }),
                     std::runtime_error);
        EXPECT_EQ(x, (std::vector<int>{1, 1}));
        group.all_reduce(x);  // outside: run at once
        EXPECT_EQ(x, (std::vector<int>{2, 2}));
    });
}

// The scope is this thread's and this group's.
TEST(Coalesce, LeavesOthersAlone) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        const Group other = world.group({0, 1}, "other");
        int collected = 1;
        int at_once = 1;
        int elsewhere = 1;
        group.coalesce([&] {
            other.all_reduce(at_once);
            EXPECT_EQ(at_once, 2);
            std::thread([&] { group.all_reduce(elsewhere); }).join();
            EXPECT_EQ(elsewhere, 2);
            group.all_reduce(collected);
            EXPECT_EQ(collected, 1);
        });
        EXPECT_EQ(collected, 2);
    });
}

}  // namespace
}  // namespace trireme
