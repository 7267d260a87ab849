// Operations that are prepared once and started many times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

thread_local bool counting = false;
std::atomic<int> allocations{0};

}  // namespace

// Counts what this program's own code allocates; the sanitizers have operators of their own.
void* operator new(std::size_t bytes) {
    if (counting) ++allocations;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace trireme {
namespace {

using namespace std::chrono_literals;

TEST(Prepared, RunsAgainOnNewContents) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{5'000}, std::size_t{100'000}}) {
        run_ranks(3, [&](World& world) {
            const Group group = world.group();
            const int rank = world.rank();
            std::vector<int> x(count);
            std::vector<int> part(count);
            std::vector<int> all(3 * count);
            Prepared reduce = group.prepare_all_reduce(x);
            Prepared gather = group.prepare_all_gather(x, all);
            Prepared scatter = group.prepare_reduce_scatter(all, part);
            Prepared swap = group.prepare_broadcast(part, Root{1});
            Prepared barrier = group.prepare_barrier();
            for (int round = 0; round < 5; ++round) {
                x.assign(count, rank + round);
                reduce.start();
                reduce.wait();
                ASSERT_EQ(x, std::vector<int>(count, 3 + 3 * round));
                x.assign(count, rank * 10 + round);
                gather.start();
                barrier.start();  // several at a time
                gather.wait();
                barrier.wait();
                for (std::size_t other = 0; other < 3; ++other)
                    ASSERT_EQ(all[other * count], static_cast<int>(other) * 10 + round);
                scatter.start();
                scatter.wait();
                ASSERT_EQ(part, std::vector<int>(count, 3 * (rank * 10 + round)));
                swap.start();
                swap.wait();
                ASSERT_EQ(part, std::vector<int>(count, 3 * (10 + round)));
            }
        });
    }
}

TEST(Prepared, MessagesAndAnySource) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        int value = 0;
        if (world.rank() == 0) {
            Prepared send = group.prepare_send(value, Peer{1});
            for (value = 0; value < 10; ++value) {
                send.start();
                send.wait();
            }
        } else {
            Prepared receive = group.prepare_recv(value, Peer{0});
            for (int round = 0; round < 10; ++round) {
                receive.start();
                receive.wait();
                EXPECT_EQ(value, round);
            }
        }
    });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Prepared, AllocatesNothingOnTheRepeatedPath) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        std::vector<float> x(500, 1);
        std::vector<float> y(50'000, 1);
        Prepared small = group.prepare_all_reduce(x);
        Prepared large = group.prepare_all_reduce(y, max);
        const auto once = [&] {
            small.start();
            small.wait();
            large.start();
            large.wait();
        };
        for (int i = 0; i < 50; ++i) once();
        counting = true;
        for (int i = 0; i < 200; ++i) once();
        counting = false;
        // Caches may still grow to their size, on a path that is rarely taken.
        EXPECT_LT(allocations.load(), 10);
    });
}
#endif

TEST(Prepared, TellsMisuse) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        std::vector<int> x(5);
        test::expect_invalid([&] { static_cast<void>(group.prepare_all_gather(x, x)); },
                             {"must have 5 x 2 = 10"});
        Prepared reduce = group.prepare_all_reduce(x);
        EXPECT_TRUE(reduce.done());
        reduce.wait();  // nothing was started
        reduce.start();
        test::expect_invalid([&] { reduce.start(); }, {"started again before"});
        reduce.wait();
        EXPECT_TRUE(reduce.done());
        Prepared moved = std::move(reduce);
        moved.start();  // its end waits
        test::expect_invalid([&] { reduce.start(); }, {"moved from"});
        test::expect_invalid([] { Prepared().start(); }, {"never made"});
        EXPECT_TRUE(reduce.done());
    });
}

TEST(Prepared, StartsThrowWhereTheGroupHasFailed) {
    run_ranks(2, [](World& world) {
        const Group group = world.group();
        int x = 1;
        Prepared reduce = group.with(200ms).prepare_all_reduce(x);
        reduce.start();
        reduce.wait();
        EXPECT_EQ(x, 2);
        const Group both = world.group({0, 1}, "both");
        if (world.rank() == 0) {
            reduce.start();
            test::expect_error(ErrorCode::timeout, {"waited"}, [&] { reduce.wait(); });
            test::expect_error(ErrorCode::timeout, {"has failed"}, [&] { reduce.start(); });
            EXPECT_TRUE(reduce.done());
        }
        both.barrier();
    });
}

}  // namespace
}  // namespace trireme
