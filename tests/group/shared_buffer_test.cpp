// Memory that the ranks of a group share: operations on it give what they give on any other.

#include "trireme/shared_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/processes.h"
#include "support/ranks.h"
#include "support/temp_dir.h"

namespace trireme {
namespace {

// Whole numbers, so that every order of adding them is exact.
template <class T>
T value(int rank, std::size_t i) {
    return static_cast<T>((i * 7 + static_cast<std::size_t>(rank) * 3) % 11);
}

template <class T>
void fill(std::span<T> data, int rank) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = value<T>(rank, i);
}

// How many are not the sum of all ranks' values.
template <class T>
std::size_t wrong_sums(std::span<const T> data, int ranks) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
        T sum{};
        for (int rank = 0; rank < ranks; ++rank) sum = static_cast<T>(sum + value<T>(rank, i));
        wrong += data[i] == sum ? 0 : 1;
    }
    return wrong;
}

class Shared : public testing::TestWithParam<Transport> {
protected:
    static void on_ranks(int ranks, const std::function<void(const Group&)>& body) {
        run_ranks(ranks, [&](World& world) { body(world.group()); }, test_options(GetParam()));
    }
};

TEST_P(Shared, AllReduceOfEverySizeInPlaceAndApart) {
    for (const int ranks : {1, 2, 3, 7}) {
        on_ranks(ranks, [&](const Group& group) {
            for (const std::size_t count : {1U, 1000U, 16'384U, 65'537U, 300'001U}) {
                const auto x = group.allocate<float>(count);
                const auto y = group.allocate<float>(count);
                ASSERT_EQ(x.size(), count);
                EXPECT_EQ(std::accumulate(x.begin(), x.end(), 0.0F), 0);
                fill(std::span(x), group.rank());
                group.all_reduce(x, y);
                EXPECT_EQ(wrong_sums(std::span<const float>(y), ranks), 0U) << count;
                group.all_reduce(x);
                EXPECT_EQ(wrong_sums(std::span<const float>(x), ranks), 0U) << count;
            }
        });
    }
}

TEST_P(Shared, EveryTypeAndOperationFoldsAsEverywhere) {
    on_ranks(4, [](const Group& group) {
        constexpr std::size_t count = 100'000;
        const auto check = [&]<class T>(T, ReduceOp op) {
            const auto x = group.allocate<T>(count);
            std::vector<T> plain(count);
            for (std::size_t i = 0; i < count; ++i)
                x[i] = plain[i] = T(static_cast<float>(value<int>(group.rank(), i)) / 3);
            group.all_reduce(x, op);
            group.all_reduce(plain, op);
            EXPECT_EQ(std::memcmp(x.data(), plain.data(), count * sizeof(T)), 0) << name(op);
        };
        for (const ReduceOp op : {sum, prod, min, max, avg}) {
            check(float{}, op);
            check(double{}, op);
            check(Bfloat16{}, op);
            check(Float16{}, op);
        }
        check(std::int8_t{}, max);
        check(std::int64_t{}, prod);
    });
}

// Of a part of it, at another place on every rank, beside ranks whose buffer is not shared.
TEST_P(Shared, IsRecognisedByTheAddressAlone) {
    on_ranks(4, [](const Group& group) {
        constexpr std::size_t count = 50'000;
        const auto memory = group.allocate<std::int64_t>(4 * count);
        std::vector<std::int64_t> plain(count);
        const auto at = static_cast<std::size_t>(group.rank()) * 777;
        std::span<std::int64_t> x(memory.data() + at, count);
        if (group.rank() == 2) x = plain;
        for (int round = 0; round < 3; ++round) {
            fill(x, group.rank());
            group.all_reduce(x);
            EXPECT_EQ(wrong_sums<std::int64_t>(x, 4), 0U);
        }
        // Nothing around it was touched.
        const bool shares = group.rank() != 2;
        EXPECT_EQ(shares && at > 0 ? memory[at - 1] : 0, 0);
        EXPECT_EQ(shares ? memory[at + count] : 0, 0);
    });
}

TEST_P(Shared, MessagesAndOtherCollectives) {
    on_ranks(3, [](const Group& group) {
        constexpr std::size_t count = 60'000;
        const auto mine = group.allocate<int>(count);
        const auto all = group.allocate<int>(3 * count);
        const int next = (group.rank() + 1) % 3;
        const int previous = (group.rank() + 2) % 3;
        fill(std::span(mine), group.rank());
        Work sent = group.send_async(mine, Peer{next});
        group.recv(std::span(all.data(), count), Peer{previous});
        sent.wait();
        EXPECT_EQ(all[5], value<int>(previous, 5));
        group.all_gather(mine, all);
        for (std::size_t i = 0; i < 3 * count; ++i)
            ASSERT_EQ(all[i], value<int>(static_cast<int>(i / count), i % count));
        group.broadcast(mine, Root{1});
        EXPECT_EQ(mine[count - 1], value<int>(1, count - 1));
        group.reduce_scatter(all, mine);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(mine[i], 3 * value<int>(group.rank(), i));
    });
}

// A dropped buffer's addresses may soon be those of other memory, which the peers do not map.
TEST_P(Shared, AddressesThatAreUsedAgainMeanWhatLiesThere) {
    on_ranks(2, [](const Group& group) {
        constexpr std::size_t count = 1 << 18;
        for (int round = 0; round < 5; ++round) {
            auto x = group.allocate<int>(count);
            fill(std::span(x), group.rank());
            group.all_reduce(x);
            int* const at = x.data();
            const bool drops = group.rank() == round % 2;
            std::span<int> y(x);
            if (drops) {
                x = {};
                void* const again =
                    ::mmap(at, count * sizeof(int), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                // Another thread may have been faster; then it is tried in the next round.
                if (again != at) {
                    if (again != MAP_FAILED) ::munmap(again, count * sizeof(int));
                    y = {};
                }
            }
            int usable = y.empty() ? 0 : 1;
            group.all_reduce(usable, min);
            if (usable == 1) {
                fill(y, group.rank());
                group.all_reduce(y);
                EXPECT_EQ(wrong_sums<int>(y, 2), 0U);
            }
            if (drops && !y.empty()) ::munmap(at, count * sizeof(int));
        }
    });
}

// A started operation keeps the memory; nothing is left when all is over.
TEST_P(Shared, LastsAsLongAsItIsUsedAndNoLonger) {
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    on_ranks(2, [&](const Group& group) {
        // One rank looks, while the other one opens nothing.
        std::ptrdiff_t before = 0;
        group.barrier();
        if (group.rank() == 0) before = descriptors();
        group.barrier();
        for (int round = 0; round < 20; ++round) {
            auto x = group.allocate<float>(100'000);
            fill(std::span(x), group.rank());
            Work work = group.all_reduce_async(x);
            x = {};
            work.wait();
        }
        group.barrier();
        if (group.rank() == 0) {
            EXPECT_EQ(descriptors(), before);
        }
        group.barrier();
    });
}

TEST_P(Shared, WhatDoesNotFitIsRefusedByAllAndTheGroupGoesOn) {
    on_ranks(3, [](const Group& group) {
        test::expect_invalid(
            [&] { (void)group.allocate<float>(group.rank() == 1 ? 10'000 : 5'000); },
            {"allocate on group \"world\" (shared_buffer_test.cpp:", "rank 0 asks for 20480 bytes",
             "rank 1 for 40960"});
        for (const std::size_t count : {SIZE_MAX / 2, std::size_t{1} << 50U, std::size_t{1} << 40U})
            test::expect_error(ErrorCode::system, {"allocate on group", "bytes of shared memory"},
                               [&] { (void)group.allocate<double>(count); });
        EXPECT_TRUE(group.allocate<float>(0).empty());
        const auto x = group.allocate<int>(1'000);
        fill(std::span(x), group.rank());
        group.all_reduce(x);
        EXPECT_EQ(wrong_sums(std::span<const int>(x), 3), 0U);
        test::expect_invalid([&] { group.coalesce([&] { (void)group.allocate<float>(1); }); },
                             {"allocate"});
    });
}

INSTANTIATE_TEST_SUITE_P(Each, Shared, testing::Values(Transport::automatic, Transport::tcp),
                         [](const auto& one) {
                             return one.param == Transport::tcp ? "tcp" : "shm";
                         });

TEST(SharedByProcesses, IsMappedFromOneProcessIntoAnother) {
    constexpr int size = 3;
    const test::TempDir folder;
    const std::string url = "file://" + (folder / "store");
    test::Processes ranks(size, [&](int rank) {
        const World world = World::connect(url, rank, size, test_options());
        const Group group = world.group();
        const auto x = group.allocate<double>(200'000);
        std::size_t wrong = 0;
        for (int round = 0; round < 5; ++round) {
            fill(std::span(x), rank);
            group.all_reduce(x);
            wrong += wrong_sums(std::span<const double>(x), size);
            group.barrier();
        }
        return wrong == 0 ? 0 : 1;
    });
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ranks.wait(rank), 0);
}

}  // namespace
}  // namespace trireme
