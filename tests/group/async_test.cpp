// Started operations and their handles.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Looks without driving anything; false after a time that only a broken program needs.
bool eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// What a started call reads or writes must outlive it: no temporary that owns its elements.
template <class X>
concept CanStart =
    requires(const Group& group, X&& x) { group.send_async(std::forward<X>(x), Peer{0}); };
static_assert(CanStart<std::vector<int>&> && CanStart<const std::vector<int>&>);
static_assert(CanStart<std::span<const int>> && CanStart<int&>);
static_assert(!CanStart<std::vector<int>> && !CanStart<std::array<int, 3>> && !CanStart<int>);

class Async : public testing::TestWithParam<Transport> {
protected:
    void run(int size, const std::function<void(World&)>& body) const {
        run_ranks(size, body, test_options(GetParam()));
    }
};

TEST_P(Async, AHandleTellsWhetherItHasEnded) {
    run(2, [](World& world) {
        const Group group = world.group();
        std::vector<int> data(10, world.rank());
        if (world.rank() == 0) {
            Work work = group.recv_async(data, Peer{1});
            EXPECT_FALSE(work.done());
            EXPECT_EQ(work.error(), nullptr);
            EXPECT_FALSE(work.wait_for(5ms));
            EXPECT_FALSE(work.wait_for(0ms));
            group.send(1, Peer{1}, Tag{5});
            while (!work.wait_for(20ms)) {
            }
            EXPECT_TRUE(work.done());
            work.wait();
            work.wait();
            EXPECT_TRUE(work.wait_for(0ms));
            EXPECT_EQ(data, std::vector<int>(10, 1));
        } else {
            int go = 0;
            group.recv(go, Peer{0}, Tag{5});
            group.send(data, Peer{0});
        }
    });
    Work empty;
    empty.wait();
    EXPECT_TRUE(empty.done() && empty.wait_for(0ms));
    bool called = false;
    empty.then([&](const std::exception_ptr& error) { called = error == nullptr; });
    EXPECT_TRUE(called);
}

TEST_P(Async, TwoThreadsWaitForOne) {
    run(2, [](World& world) {
        for (int i = 0; i < 20; ++i) {
            int value = 1;
            Work work = world.group().all_reduce_async(value);
            std::thread other([&] {
                work.wait();
                EXPECT_EQ(value, 2);
            });
            work.wait();
            EXPECT_EQ(value, 2);
            other.join();
        }
    });
}

TEST_P(Async, ThenIsCalledOnceWithTheError) {
    run(2, [](World& world) {
        const Group group = world.group();
        std::atomic<int> calls{0};
        int value = 1;
        Work work = group.all_reduce_async(value);
        const auto count = [&](const std::exception_ptr& error) { calls += error ? 100 : 1; };
        work.then(count);
        work.then(count);
        work.wait();
        EXPECT_TRUE(eventually([&] { return calls == 2; }));
        work.then(count);  // at once, on this thread
        EXPECT_EQ(calls, 3);

        std::promise<std::exception_ptr> failure;
        std::vector<int> never(1);
        const Group alone = world.group({world.rank()});
        Work failing = alone.recv_async(never, Peer{0});
        failing.then([&](const std::exception_ptr& error) { failure.set_value(error); });
        alone.abort("enough");
        EXPECT_THROW(std::rethrow_exception(failure.get_future().get()), Error);
        EXPECT_TRUE(failing.error());
        EXPECT_THROW(failing.wait(), Error);
        EXPECT_THROW(static_cast<void>(failing.wait_for(0ms)), Error);
    });
}

TEST_P(Async, ACallbackMayStartTheNextOperation) {
    run(2, [](World& world) {
        const Group group = world.group();
        std::promise<int> result;
        int first = 1;
        int second = 10;
        Work work = group.all_reduce_async(first);
        std::optional<Work> next;
        work.then([&](const std::exception_ptr&) {
            next.emplace(group.all_reduce_async(second));
            next->then([&](const std::exception_ptr&) { result.set_value(second); });
        });
        EXPECT_EQ(result.get_future().get(), 20);
        work.wait();
    });
}

std::size_t resident_pages() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    std::size_t all = 0;
    std::size_t resident = 0;
    EXPECT_EQ(std::fscanf(file, "%zu %zu", &all, &resident), 2);
    std::fclose(file);
    return resident;
}

TEST_P(Async, ThousandsOfHandlesLeaveNothingBehind) {
    run(2, [](World& world) {
        const Group group = world.group();
        // In batches, so that not each of them needs a processor that strangers use, too.
        constexpr int batch = 100;
        std::vector<std::vector<int>> data(batch, std::vector<int>(500, 1));
        const auto some = [&](int count) {
            for (int done = 0; done < count; done += batch) {
                std::vector<Work> works;
                for (int i = 0; i < batch; ++i) {
                    if (i % 2 == 0)
                        static_cast<void>(group.barrier_async());  // dropped
                    else
                        works.push_back(group.broadcast_async(data[static_cast<std::size_t>(i)],
                                                              Root{i / 2 % 2}));
                }
                for (Work& work : works) work.wait();
            }
        };
        some(1000);
        const std::size_t before = resident_pages();
        some(10'000);
        group.barrier();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        EXPECT_LT(resident_pages(), before + (4U << 20) / 4096);
#else
        static_cast<void>(before);
#endif
    });
}

TEST_P(Async, GoesOnWhileNobodyWaits) {
    for (const std::size_t count : {std::size_t{10}, std::size_t{300'000}}) {
        run(3, [&](World& world) {
            std::vector<int> data(count, 1);
            Work work = world.group().all_reduce_async(data);
            EXPECT_TRUE(eventually([&] { return work.done(); }));
            EXPECT_EQ(data.back(), 3);
            // The others may still need this rank's control thread.
            world.group().barrier();
        });
    }
}

TEST_P(Async, ATimeoutComesWhileNobodyWaits) {
    run(2, [](World& world) {
        std::vector<int> data(1);
        if (world.rank() == 0) {
            Work work = world.group().with(100ms).recv_async(data, Peer{1});
            EXPECT_TRUE(eventually([&] { return work.done(); }));
            try {
                work.wait();
                ADD_FAILURE();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::timeout);
                EXPECT_THAT(error.what(), HasSubstr("recv #1 int32[1] from rank 1"));
            }
        }
        EXPECT_THROW(world.group().barrier(), Error);
    });
}

TEST_P(Async, DestroyingABorrowingHandleWaits) {
    run(2, [](World& world) {
        std::vector<int> data(100'000, world.rank());
        if (world.rank() == 0) {
            {
                const Work work = world.group().recv_async(data, Peer{1});
            }
            EXPECT_EQ(data, std::vector<int>(100'000, 1));
            Work moved;
            moved = world.group().recv_async(data, Peer{1}, Tag{1});
            moved = Work();  // so does giving it another operation
            EXPECT_EQ(data, std::vector<int>(100'000, 2));
        } else {
            world.group().send(data, Peer{0});
            data.assign(data.size(), 2);
            world.group().send(data, Peer{0}, Tag{1});
        }
    });
}

TEST_P(Async, ManyOfOneGroupAreUnderWayAtOnce) {
    run(4, [](World& world) {
        constexpr std::size_t count = 100;
        std::vector<std::vector<int>> data;
        std::vector<Work> works;
        for (std::size_t i = 0; i < count; ++i)
            data.emplace_back(i % 10 == 0 ? 5'000 : 3, static_cast<int>(i));
        for (auto& one : data) works.push_back(world.group().all_reduce_async(one));
        for (std::size_t i = count; i-- > 0;) {
            works[i].wait();
            ASSERT_EQ(data[i].back(), static_cast<int>(4 * i));
        }
    });
}

TEST_P(Async, OperationsOfTwoGroupsOverlap) {
    run(4, [](World& world) {
        const Group forth = world.group({0, 1, 2, 3});
        const Group back = world.group({3, 2, 1, 0});
        for (int i = 0; i < 20; ++i) {
            std::vector<float> a(20'000, 1);
            std::vector<float> b(i % 2 == 0 ? 100 : 30'000, 2);
            // Half of the ranks start them in the other order: groups are independent.
            Work first;
            Work second;
            if (world.rank() % 2 == 0) {
                first = forth.all_reduce_async(a);
                second = back.all_reduce_async(b);
                first.wait();
                second.wait();
            } else {
                second = back.all_reduce_async(b);
                first = forth.all_reduce_async(a);
                second.wait();
                first.wait();
            }
            EXPECT_EQ(a.back(), 4);
            EXPECT_EQ(b.back(), 8);
        }
    });
}

TEST_P(Async, ThreadsBlockOnDifferentGroups) {
    run(3, [](World& world) {
        constexpr int threads = 3;
        std::vector<Group> groups;
        for (int i = 0; i < threads; ++i) groups.push_back(world.group({0, 1, 2}));
        std::vector<std::thread> running;
        for (int i = 0; i < threads; ++i) {
            running.emplace_back([&, i] {
                const Group& group = groups[static_cast<std::size_t>(i)];
                for (int round = 0; round < 40; ++round) {
                    std::vector<int> data(round % 20 == 0 ? 30'000 : 5, i + round);
                    group.all_reduce(data);
                    ASSERT_EQ(data.back(), 3 * (i + round));
                }
            });
        }
        for (std::thread& thread : running) thread.join();
    });
}

TEST_P(Async, AWorldEndsWhenItsOperationsHave) {
    run(2, [](World& world) {
        int value = 1;
        Work work;
        {
            const World copy = world;
            work = copy.group().all_reduce_async(value);
        }
        world = World::create(memory_store(), 0, 1, test_options());
        EXPECT_TRUE(work.done());
        work.wait();
        EXPECT_EQ(value, 2);
    });
}

INSTANTIATE_TEST_SUITE_P(Each, Async, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& suite_info) {
                             return suite_info.param == Transport::shm ? "shm" : "tcp";
                         });

}  // namespace
}  // namespace trireme
