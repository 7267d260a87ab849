// The algorithms that reach into the peers' memory, on memory that all map and on memory that only
// the kernel reaches, and what they refuse.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "support/expect_error.h"
#include "support/ranks.h"
#include "trireme/shared_buffer.h"

namespace trireme {
namespace {

WorldOptions all_direct() {
    WorldOptions options = test_options(Transport::shm);
    options.algorithm =
        "broadcast:direct,reduce:direct,all_gather:direct,gather:direct,scatter:direct,"
        "reduce_scatter:direct,all_to_all:direct,all_reduce:direct";
    return options;
}

// What rank `from` has for `to`, at an index: whole numbers, so that all sums are exact.
float value(int from, int to, std::size_t i) {
    return static_cast<float>((i % 13) * 100 + static_cast<std::size_t>(from * 10 + to));
}

// The calls of one rank on memory that `make` gives, a function of the number of floats. More than
// a lease's worth of each, an odd number, so that pieces and slices end anywhere.
template <class Make>
void play_all(const Group& group, const Make& make) {
    constexpr std::size_t count = 300'007;
    const int ranks = group.size();
    const int own = group.rank();
    const auto n = static_cast<std::size_t>(ranks);
    const auto part = make(count);
    const auto result = make(count);
    const auto whole = make(count * n);
    const auto all = make(count * n);
    const auto write = [&] {
        for (std::size_t i = 0; i < count; ++i) {
            part[i] = value(own, 0, i);
            result[i] = -1;
            for (int to = 0; to < ranks; ++to) {
                whole[static_cast<std::size_t>(to) * count + i] = value(own, to, i);
                all[static_cast<std::size_t>(to) * count + i] = -1;
            }
        }
    };
    // That a part of `data` is what `expected`, a function of the index, says.
    const auto check = [&](const char* what, std::span<const float> data, const auto& expected) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i) wrong += data[i] == expected(i) ? 0 : 1;
        EXPECT_EQ(wrong, 0U) << what << " on rank " << own << " of " << ranks;
    };
    const auto part_of_all = [&](int rank) {
        return std::span<const float>(all).subspan(static_cast<std::size_t>(rank) * count, count);
    };
    const auto sum_for = [&](int to) {
        return [=](std::size_t i) {
            float sum = 0;
            for (int from = 0; from < ranks; ++from) sum += value(from, to, i);
            return sum;
        };
    };

    for (int root = 0; root < ranks; root += ranks - 1) {
        write();
        group.gather(part, all, Root{root});
        for (int from = 0; from < ranks; ++from)
            check("gather", part_of_all(from),
                  [&](std::size_t i) { return own == root ? value(from, 0, i) : -1; });
        group.scatter(whole, result, Root{root});
        check("scatter", result, [&](std::size_t i) { return value(root, own, i); });
        group.reduce(part, Root{root});
        check("reduce", part,
              [&](std::size_t i) { return own == root ? sum_for(0)(i) : value(own, 0, i); });
        group.broadcast(part, Root{root});
        check("broadcast", part, sum_for(0));
        if (ranks == 1) break;
    }
    write();
    group.all_gather(part, all);
    for (int from = 0; from < ranks; ++from)
        check("all_gather", part_of_all(from), [&](std::size_t i) { return value(from, 0, i); });
    group.all_to_all(whole, all);
    for (int from = 0; from < ranks; ++from)
        check("all_to_all", part_of_all(from), [&](std::size_t i) { return value(from, own, i); });
    group.reduce_scatter(whole, result);
    check("reduce_scatter", result, sum_for(own));
    group.all_reduce(part, result, avg);
    check("all_reduce", result,
          [&](std::size_t i) { return sum_for(0)(i) / static_cast<float>(ranks); });
    group.all_reduce(part);
    check("all_reduce in place", part, sum_for(0));
}

TEST(Direct, EveryOperationOnMemoryThatAllMap) {
    for (const int ranks : {1, 2, 4, 7})
        run_ranks(
            ranks,
            [](World& world) {
                const Group group = world.group();
                play_all(group, [&](std::size_t count) { return group.allocate<float>(count); });
            },
            all_direct());
}

TEST(Direct, EveryOperationOnMemoryOfTheirOwn) {
    for (const int ranks : {2, 4, 7})
        run_ranks(
            ranks,
            [](World& world) {
                std::vector<std::vector<float>> memory;
                memory.reserve(4);
                play_all(world.group(), [&](std::size_t count) {
                    return std::span<float>(memory.emplace_back(count));
                });
            },
            all_direct());
}

// One side in memory that all map, the other not, and not on all ranks.
TEST(Direct, EveryOperationOnMixedMemory) {
    run_ranks(
        4,
        [](World& world) {
            const Group group = world.group();
            std::vector<SharedBuffer<float>> shared;
            std::vector<std::vector<float>> memory;
            shared.reserve(4);
            memory.reserve(4);
            play_all(group, [&](std::size_t count) {
                SharedBuffer<float>& mapped = shared.emplace_back(group.allocate<float>(count));
                const bool is_odd = (shared.size() + static_cast<std::size_t>(group.rank())) % 2;
                return is_odd ? std::span<float>(mapped)
                              : std::span<float>(memory.emplace_back(count));
            });
        },
        all_direct());
}

// What two ranks do not agree on is seen before anything is written.
TEST(Direct, PartsOfOtherLengthsAreRefused) {
    for (const bool is_gather : {true, false})
        run_ranks(
            3,
            [&](World& world) {
                const Group group = world.group();
                std::vector<float> part(group.rank() == 2 ? 999 : 1000, 1);
                std::vector<std::vector<float>> parts(3, std::vector<float>(1000, -1));
                test::expect_error(ErrorCode::mismatch, {is_gather ? "gather" : "scatter"}, [&] {
                    is_gather ? group.gather(part, parts, Root{0})
                              : group.scatter(parts, part, Root{0});
                    group.barrier();  // at the latest here
                });
                for (const auto& one : parts) EXPECT_EQ(std::ranges::count(one, -1), 1000);
            },
            all_direct());
}

}  // namespace
}  // namespace trireme
