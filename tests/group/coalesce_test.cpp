// Many calls as one: values, what cannot become one, and that it is one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"
#include "trireme/object.h"

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
            std::vector<int> again = at_root;
            int part = -1;
            group.coalesce([&] {
                group.gather(rank, at_root, Root{0});
                group.gather(rank, again, Root{0});
            });
            EXPECT_EQ(at_root, rank == 0 ? wide : std::vector<int>{});
            EXPECT_EQ(again, at_root);
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

// They run at the same time: none may use what another writes.
TEST(Coalesce, RefusesCallsThatShareMemory) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        std::vector<int> x(8, 1);
        std::vector<int> y(8);
        const std::span<int> all(x);
        const auto refused = [&](auto&& one, auto&& other) {
            for (const bool swapped : {false, true})
                expect_invalid(
                    [&] {
                        group.coalesce([&] {
                            group.all_reduce(y);
                            swapped ? one() : other();
                            swapped ? other() : one();
                        });
                    },
                    {"coalesce on group", "same memory", "coalesce_test.cpp"});
        };
        refused([&] { group.all_reduce(x); }, [&] { group.all_reduce(x); });
        refused([&] { group.all_reduce(all.first(5)); }, [&] { group.all_reduce(all.last(4)); });
        refused([&] { group.all_reduce(all.subspan(2, 1)); }, [&] { group.all_reduce(x); });
        refused([&] { group.all_reduce(all.first(3), all.subspan(3, 3)); },
                [&] { group.all_reduce(all.subspan(2, 1)); });
        EXPECT_EQ(x, std::vector<int>(8, 1));
        // Side by side, and read twice.
        std::vector<int> first(4);
        std::vector<int> second(4);
        group.coalesce([&] {
            group.all_reduce(all.first(4), first);
            group.all_reduce(all.first(4), second);
            group.all_reduce(all.last(4));
        });
        EXPECT_EQ(first, std::vector<int>(4, 2));
        EXPECT_EQ(second, first);
        EXPECT_EQ(x, (std::vector<int>{1, 1, 1, 1, 2, 2, 2, 2}));
    });
}

TEST(Coalesce, RefusesAReceiveThatCouldNotTellItsSource) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        int x = 0;
        test::expect_error(ErrorCode::unsupported, {"recv", "coalesce", "recv_async"},
                           [&] { group.coalesce([&] { group.recv(x, any_source); }); });
    });
}

// Each of their calls needs what the one before has brought.
TEST(Coalesce, RefusesWhatIsSeveralCallsInItself) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        const Peer other{1 - world.rank()};
        const auto refused = [&](const char* name, auto&& call) {
            expect_invalid([&] { group.coalesce(call); }, {name, "inside coalesce"});
        };
        std::string value = "x";
        refused("split", [&] { static_cast<void>(group.split(0)); });
        refused("broadcast_object", [&] { broadcast_object(group, value, Root{0}); });
        refused("all_gather_object", [&] { static_cast<void>(all_gather_object(group, value)); });
        refused("gather_object", [&] { static_cast<void>(gather_object(group, value, Root{0})); });
        refused("scatter_object", [&] {
            static_cast<void>(scatter_object(group, std::vector<std::string>(2), Root{0}));
        });
        refused("send_object", [&] { send_object(group, value, other); });
        refused("recv_object", [&] { static_cast<void>(recv_object<std::string>(group, other)); });
        group.barrier();
    });
}

TEST(Coalesce, TwoThreadsMayEachHaveAScope) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        const Peer other{1 - world.rank()};
        const auto swap = [&](int tag) {
            for (int i = 0; i < 100; ++i) {
                const int sent = 1000 * tag + i;
                int came = -1;
                group.coalesce([&] {
                    EXPECT_TRUE(group.is_coalescing());
                    group.send(sent, other, Tag{tag});
                    group.recv(came, other, Tag{tag});
                });
                EXPECT_EQ(came, sent);
            }
            EXPECT_FALSE(group.is_coalescing());
        };
        std::thread one(swap, 1);
        std::thread two(swap, 2);
        one.join();
        two.join();
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
