// Counts beyond 2^31 elements and 2^32 bytes, where a number that is too narrow would show. Needs
// 10 GB or more and a minute: only with TRIREME_TEST_LARGE=1.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

constexpr std::size_t two_to_31 = std::size_t{1} << 31;
constexpr std::size_t count = two_to_31 + 17;

class Large : public testing::TestWithParam<Transport> {
protected:
    void SetUp() override {
        const char* asked = std::getenv("TRIREME_TEST_LARGE");
        if (asked == nullptr || *asked != '1') GTEST_SKIP() << "needs TRIREME_TEST_LARGE=1";
    }
    static WorldOptions options() {
        WorldOptions options = test_options(GetParam());
        options.timeout = Timeout(600'000);
        return options;
    }
};

// Where a mistake would show: both ends, around every power of two that a type could end at, and
// a few in between.
std::vector<std::size_t> places(std::size_t elements, std::size_t width) {
    std::vector<std::size_t> result;
    const auto around = [&](std::size_t at) {
        for (std::size_t i = at < 40 ? 0 : at - 40; i < std::min(elements, at + 40); ++i)
            result.push_back(i);
    };
    around(0);
    around(elements);
    for (const std::size_t power : {30, 31, 32}) {
        around((std::size_t{1} << power) / width);
        around(std::size_t{1} << power);
    }
    for (std::size_t i = 0; i < elements; i += 1'000'003) result.push_back(i);
    return result;
}

template <class T>
T value(int rank, std::size_t i) {
    return static_cast<T>(i * 7 + (i >> 13) + static_cast<std::size_t>(rank) * 31 + 1);
}

template <class T>
std::vector<T> values(int rank, std::size_t elements) {
    std::vector<T> result(elements);
    for (std::size_t i = 0; i < elements; ++i) result[i] = value<T>(rank, i);
    return result;
}

// `wanted(i)` is what element i must be.
template <class T, class Wanted>
void check(const std::vector<T>& got, std::size_t offset, std::size_t elements, Wanted wanted) {
    for (const std::size_t i : places(elements, sizeof(T)))
        ASSERT_EQ(got[offset + i], wanted(i)) << "element " << i;
}

TEST_P(Large, C11_BroadcastAllReduceAndMessages) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group();
            const int rank = group.rank();
            std::vector<std::uint8_t> data = values<std::uint8_t>(rank, count);
            group.all_reduce(data);
            check(data, 0, count, [](std::size_t i) {
                return static_cast<std::uint8_t>(value<std::uint8_t>(0, i) +
                                                 value<std::uint8_t>(1, i));
            });
            if (rank == 0) data = values<std::uint8_t>(5, count);
            group.broadcast(data, Root(0));
            check(data, 0, count, [](std::size_t i) { return value<std::uint8_t>(5, i); });
            if (rank == 1) {
                data = values<std::uint8_t>(6, count);
                group.send(data, Peer(0));
            } else {
                group.recv(data, Peer(1));
                check(data, 0, count, [](std::size_t i) { return value<std::uint8_t>(6, i); });
            }
            group.barrier();
        },
        options());
}

// Rank 0 sends most of it to rank 1, which sends little back: the parts after a large one lie
// beyond 2^31.
TEST_P(Large, C11_AllToAllOfUnevenParts) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group();
            const int rank = group.rank();
            const std::size_t few = 1001;
            const std::size_t to_1 = rank == 0 ? count : few;
            const std::size_t from_0 = rank == 0 ? few : count;
            const std::vector<std::uint8_t> in = values<std::uint8_t>(rank, few + to_1);
            std::vector<std::uint8_t> out(from_0 + few);
            group.all_to_all(split(in, {few, to_1}), split(out, {from_0, few}));
            // Everybody's first part goes to rank 0, and what follows it to rank 1.
            const std::size_t skipped = rank == 0 ? 0 : few;
            check(out, 0, from_0,
                  [&](std::size_t i) { return value<std::uint8_t>(0, skipped + i); });
            check(out, from_0, few,
                  [&](std::size_t i) { return value<std::uint8_t>(1, skipped + i); });
            group.barrier();
        },
        options());
}

TEST_P(Large, C11_MoreThanFourGigabytesOfInt64) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group();
            const std::size_t elements = (std::size_t{1} << 29) + 5;
            std::vector<std::int64_t> data = values<std::int64_t>(group.rank(), elements);
            group.broadcast(data, Root(1));
            check(data, 0, elements, [](std::size_t i) { return value<std::int64_t>(1, i); });
            group.barrier();
        },
        options());
}

std::string case_name(const testing::TestParamInfo<Transport>& tested) {
    return tested.param == Transport::tcp ? "tcp" : "shm";
}

INSTANTIATE_TEST_SUITE_P(All, Large, testing::Values(Transport::shm, Transport::tcp), case_name);

}  // namespace
}  // namespace trireme
