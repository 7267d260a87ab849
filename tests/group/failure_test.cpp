// Calls that do not fit together, ranks that do not come or go away: an error on every rank, and
// no more than the group is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::optional<Error> error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

// Ranks make calls that do not fit; `text` is in everybody's error.
struct Misfit {
    std::string name;
    int ranks;
    std::function<void(World&)> call;
    std::vector<std::string> texts;
};

class Mismatch : public testing::TestWithParam<Misfit> {};

TEST_P(Mismatch, IsAnErrorOnEveryRankAndOfNoOtherGroup) {
    const Misfit& misfit = GetParam();
    for (const Transport transport : {Transport::shm, Transport::tcp}) {
        run_ranks(
            misfit.ranks,
            [&](World& world) {
                const Group group = world.group();
                const Group other = world.group({[&] {
                    std::vector<int> ranks;
                    for (int rank = world.size(); rank-- > 0;) ranks.push_back(rank);
                    return ranks;
                }()});
                group.barrier();
                other.barrier();  // all have left the first one
                // At once where the rank waits, at the next use where its call had returned.
                auto error = error_of([&] { misfit.call(world); });
                if (!error) error = error_of([&] { group.barrier(); });
                ASSERT_TRUE(error);
                EXPECT_EQ(error->code(), ErrorCode::mismatch) << error->what();
                for (const std::string& text : misfit.texts)
                    EXPECT_THAT(error->what(), HasSubstr(text));
                EXPECT_EQ(error->ranks().size(), 2U);

                const auto again = error_of([&] { group.barrier(); });
                ASSERT_TRUE(again);
                EXPECT_EQ(again->code(), ErrorCode::mismatch);
                EXPECT_THAT(again->what(), HasSubstr(misfit.texts.front()));

                std::vector<int> ones(1000, 1);
                other.all_reduce(ones);
                EXPECT_EQ(ones.back(), world.size());
            },
            test_options(transport));
    }
}

template <class T>
void reduce_count(World& world, std::size_t count, ReduceOp op = sum) {
    std::vector<T> data(count);
    world.group().all_reduce(data, op);
}

bool last(const World& world) { return world.rank() == world.size() - 1; }

std::vector<Misfit> misfits() {
    std::vector<Misfit> all;
    for (const int n : {2, 3, 8}) {
        const auto add = [&](const std::string& name, std::function<void(World&)> call,
                             std::vector<std::string> texts) {
            all.push_back({name + std::to_string(n), n, std::move(call), std::move(texts)});
        };
        for (const std::size_t count : {std::size_t{4}, std::size_t{100'000}}) {
            const std::string size = std::to_string(count);
            add("Count" + size,
                [=](World& world) { reduce_count<float>(world, last(world) ? count + 1 : count); },
                {"float32[" + size + "]", "float32[" + std::to_string(count + 1) + "]",
                 "called all_reduce", "failure_test.cpp:"});
            add("Dtype" + size,
                [=](World& world) {
                    if (last(world))
                        reduce_count<int>(world, count);
                    else
                        reduce_count<float>(world, count);
                },
                {"float32[" + size + "]", "int32[" + size + "]"});
            add("ReduceOp" + size,
                [=](World& world) {
                    reduce_count<float>(world, count, last(world) ? trireme::max : sum);
                },
                {"[" + size + "] sum", "[" + size + "] max"});
            add("Kind" + size,
                [=](World& world) {
                    if (last(world)) return world.group().barrier();
                    reduce_count<float>(world, count);
                },
                {"called all_reduce", "called barrier"});
            add("Root" + size,
                [=](World& world) {
                    std::vector<double> data(count);
                    world.group().broadcast(data, Root{last(world) ? world.size() - 1 : 0});
                },
                {"root 0", "root " + std::to_string(n - 1)});
        }
        add("Order",
            [](World& world) {
                std::vector<int> a(10);
                std::vector<int> b(20);
                world.group().all_reduce(last(world) ? b : a);
                world.group().all_reduce(last(world) ? a : b);
            },
            {"int32[10]", "int32[20]"});
        // Of coalesced calls it is not their sum that counts.
        add("Order of coalesced calls",
            [](World& world) {
                std::vector<int> a(10);
                std::vector<int> b(20);
                world.group().coalesce([&] {
                    world.group().all_reduce(last(world) ? b : a);
                    world.group().all_reduce(last(world) ? a : b);
                });
            },
            {"of coalesced calls", "differ in the counts of their parts or coalesced calls"});
        add("Coalesced with plain",
            [](World& world) {
                std::vector<int> data(30);
                const Group group = world.group();
                if (!last(world)) return group.all_reduce(data);
                group.coalesce([&] {
                    group.all_reduce(std::span(data).first(10));
                    group.all_reduce(std::span(data).last(20));
                });
            },
            {"of coalesced calls", "differ in the counts of their parts or coalesced calls"});
        add("Counts of parts",
            [](World& world) {
                const int own = last(world) ? 2 : 1;
                std::vector<int> counts(static_cast<std::size_t>(world.size()), own);
                counts.front() = 5;
                std::vector<int> out(static_cast<std::size_t>(5 + own * (world.size() - 1)));
                std::vector<int> in(world.rank() == 0 ? 5U : static_cast<std::size_t>(own));
                world.group().all_gather(in, split(out, counts));
            },
            {"uneven parts", "differ in the counts of their parts or coalesced calls"});
        add("Whether a users op commutes",
            [](World& world) {
                const UserReduce left(
                    "left",
                    [](const void* a, const void*, void* out, std::size_t count, Dtype) {
                        std::memcpy(out, a, count * sizeof(int));
                    },
                    last(world));
                int x = 0;
                world.group().all_reduce(x, left);
            },
            {"left", "whether it commutes"});
        // Names that begin alike.
        add("A users op",
            [](World& world) {
                const UserReduce own(
                    std::string(40, 'x') + (last(world) ? "a" : "b"),
                    [](const void*, const void*, void*, std::size_t, Dtype) {}, true);
                int x = 0;
                world.group().all_reduce(x, own);
            },
            {"xxxx", "its name"});
        add("Small and large",
            [](World& world) { reduce_count<float>(world, last(world) ? 10 : 200'000); },
            {"float32[10]", "float32[200000]"});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Each, Mismatch, testing::ValuesIn(misfits()), [](const auto& suite_info) {
    std::string name = suite_info.param.name;
    std::erase(name, ' ');
    return name;
});

TEST(Mismatch, OfASendAndItsReceive) {
    for (const std::size_t count : {std::size_t{4}, std::size_t{1'000'000}}) {
        run_ranks(3, [&](World& world) {
            const Group group = world.group();
            const Group other = world.group({0, 1, 2});
            const auto error = error_of([&] {
                std::vector<int> data(world.rank() == 0 ? count : count - 1);
                if (world.rank() == 0) group.send(data, Peer{1});
                if (world.rank() == 1) group.recv(data, Peer{0});
                group.barrier();
            });
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code(), ErrorCode::mismatch);
            EXPECT_THAT(error->what(), HasSubstr("int32[" + std::to_string(count) + "]"));
            EXPECT_THAT(error->what(), HasSubstr("int32[" + std::to_string(count - 1) + "]"));
            EXPECT_THAT(error->ranks(), ElementsAre(0, 1));
            other.barrier();
        });
    }
}

TEST(Mismatch, LeavesTheUsersBufferAlone) {
    for (const std::size_t count : {std::size_t{4}, std::size_t{100'000}}) {
        run_ranks(2, [&](World& world) {
            std::vector<float> data(world.rank() == 0 ? count : 2 * count, 7);
            const std::vector<float> before = data;
            EXPECT_TRUE(error_of([&] { world.group().all_reduce(data); }));
            EXPECT_EQ(data, before);
        });
    }
}

TEST(Timeout, NamesTheRankThatNeverCame) {
    for (const Transport transport : {Transport::shm, Transport::tcp}) {
        run_ranks(
            3,
            [&](World& world) {
                const Group others = world.group({1, 0, 2});
                if (world.rank() != 2) {
                    const auto error = error_of([&] { world.group().with(200ms).barrier(); });
                    ASSERT_TRUE(error);
                    EXPECT_EQ(error->code(), ErrorCode::timeout);
                    EXPECT_THAT(error->what(), HasSubstr("for rank 2"));
                    EXPECT_THAT(error->ranks(), ElementsAre(2));
                }
                others.barrier();
                // Who comes late learns it, too.
                const auto late = error_of([&] { world.group().barrier(); });
                ASSERT_TRUE(late);
                EXPECT_EQ(late->code(), ErrorCode::timeout);
            },
            test_options(transport));
    }
}

// Each of two ranks believes that it is the root and waits for the other. Over TCP nothing tells.
TEST(Timeout, EndsARankWhoseCallFitsButNeverComes) {
    run_ranks(
        2,
        [&](World& world) {
            std::vector<double> data(4);
            const auto error =
                error_of([&] { world.group().with(300ms).reduce(data, Root{world.rank()}); });
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code(), ErrorCode::timeout);
            EXPECT_THAT(error->what(), HasSubstr("reduce #1 float64[4] sum root "));
        },
        test_options(Transport::tcp));
}

TEST(Timeout, OfALargeAllReduceNamesTheRankEverywhere) {
    run_ranks(8, [&](World& world) {
        const Group others = world.group({0, 1, 2, 3, 4, 5, 6, 7});
        if (world.rank() != 5) {
            std::vector<float> data(100'000);
            const auto error = error_of([&] { world.group().with(2s).all_reduce(data); });
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code(), ErrorCode::timeout);
            EXPECT_THAT(error->ranks(), Contains(5));
        }
        others.barrier();
    });
}

TEST(Failure, ReachesARankThatIsBetweenTwoSteps) {
    // The root gets a rank's data and its abort in one look, and has more ranks to wait for.
    for (int round = 0; round < 20; ++round) {
        run_ranks(3, [](World& world) {
            const Group group = world.group();
            const Group other = world.group({2, 1, 0});
            std::vector<int> one(1);
            std::vector<int> all(3);
            if (world.rank() == 1) {
                group.gather(one, all, Root{0});
                group.abort("enough");
            }
            if (world.rank() != 0) other.barrier();
            if (world.rank() == 0) {
                other.barrier();
                const auto error = error_of([&] { group.gather(one, all, Root{0}); });
                ASSERT_TRUE(error);
                EXPECT_EQ(error->code(), ErrorCode::aborted);
            }
        });
    }
}

TEST(Failure, AWorldThatIsDestroyedFailsThoseThatWaitForIt) {
    for (const Transport transport : {Transport::shm, Transport::tcp}) {
        run_ranks(
            8,
            [&](World& world) {
                const Group group = world.group();
                const Group others =
                    world.rank() == 3 ? Group{} : world.group({0, 1, 2, 4, 5, 6, 7});
                if (world.rank() == 3) return;  // and its World ends
                const auto error = error_of([&] { group.barrier(); });
                ASSERT_TRUE(error);
                EXPECT_EQ(error->code(), ErrorCode::peer_lost) << error->what();
                EXPECT_THAT(error->what(), HasSubstr("rank 3 has left the world"));
                EXPECT_THAT(error->ranks(), ElementsAre(3));
                std::vector<int> ones(7, 1);
                others.all_reduce(ones);
                EXPECT_EQ(ones[3], 7);
            },
            test_options(transport));
    }
}

TEST(Failure, AGroupOutlivesItsWorldAndSaysSo) {
    std::optional<Group> kept;
    {
        const World world = World::create(memory_store(), 0, 1, test_options());
        kept = world.group();
        kept->barrier();
    }
    const auto error = error_of([&] { kept->barrier(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::aborted);
    EXPECT_THAT(error->what(), HasSubstr("has destroyed its World"));
    kept->abort("again");
}

TEST(Abort, FreesBlockedCallsEverywhereAtOnce) {
    for (const Transport transport : {Transport::shm, Transport::tcp}) {
        run_ranks(
            4,
            [&](World& world) {
                const Group group = world.group();
                const Group other = world.group({3, 2, 1, 0});
                const auto start = std::chrono::steady_clock::now();
                std::thread aborter;
                if (world.rank() == 2) {
                    aborter = std::thread([group] {
                        std::this_thread::sleep_for(50ms);
                        group.abort("the loss is not a number");
                    });
                }
                std::vector<int> data(10);
                const auto error = error_of([&] {
                    if (world.rank() == 0)
                        other.barrier();  // not in the call yet
                    else
                        group.recv(data, Peer{0});
                });
                if (world.rank() != 0) {
                    ASSERT_TRUE(error);
                    EXPECT_EQ(error->code(), ErrorCode::aborted);
                    EXPECT_THAT(error->what(), HasSubstr("the loss is not a number"));
                    EXPECT_THAT(error->ranks(), ElementsAre(2));
                    other.barrier();
                }
                if (aborter.joinable()) aborter.join();
                // Far below the timeout of a minute.
                EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
                EXPECT_TRUE(error_of([&] { group.barrier(); }));
            },
            test_options(transport));
    }
}

TEST(Abort, WithAnEndlessReasonDoesNoHarm) {
    run_ranks(2, [](World& world) {
        const Group other = world.group({0, 1});
        if (world.rank() == 0) world.group().abort(std::string(1'000'000, 'x'));
        EXPECT_TRUE(error_of([&] { world.group().barrier(); }));
        other.barrier();
    });
}

}  // namespace
}  // namespace trireme
