// The values of every collective, against a plain reference, over ranks x transports x counts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/ranks.h"

namespace trireme {
namespace {

// Element i of rank r's contribution: small whole numbers, so that every sum is exact, and
// different for neighbouring ranks and elements, so that a mix-up shows.
template <class T>
T value(int rank, std::size_t i) {
    return static_cast<T>((static_cast<std::size_t>(rank) * 3 + i * 5) % 7 + 1);
}

template <class T>
std::vector<T> values(int rank, std::size_t count) {
    std::vector<T> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = value<T>(rank, i);
    return out;
}

template <class T>
T fold(T a, T b, ReduceOp op) {
    switch (op.kind()) {
        case ReduceOp::Kind::sum:
        case ReduceOp::Kind::avg: return static_cast<T>(a + b);
        case ReduceOp::Kind::prod: return static_cast<T>(a * b);
        case ReduceOp::Kind::min: return std::min(a, b);
        case ReduceOp::Kind::max: return std::max(a, b);
        default: break;
    }
    return a;
}

// What a reduction over `ranks` ranks gives.
template <class T>
std::vector<T> reduced(int ranks, std::size_t count, ReduceOp op) {
    std::vector<T> out = values<T>(0, count);
    for (int rank = 1; rank < ranks; ++rank)
        for (std::size_t i = 0; i < count; ++i) out[i] = fold(out[i], value<T>(rank, i), op);
    if (op == avg)
        for (T& element : out) element = static_cast<T>(element / static_cast<T>(ranks));
    return out;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

template <class T>
class Cells {
public:
    Cells(const World& world, std::size_t count)
        : group_(world.group()),
          rank_(world.rank()),
          size_(world.size()),
          count_(count),
          whole_(count * static_cast<std::size_t>(size_)) {}

    void all() {
        for (const ReduceOp op : {sum, prod, min, max}) reductions(op);
        if constexpr (std::is_floating_point_v<T>) reductions(avg);
        gathers();
        for (int root = 0; root < size_; ++root) rooted(Root(root));
        exchanges();
        group_.barrier();
    }

private:
    void reductions(ReduceOp op) {
        const std::vector<T> expected = reduced<T>(size_, count_, op);
        std::vector<T> data = values<T>(rank_, count_);
        group_.all_reduce(data, op);
        EXPECT_EQ(data, expected) << "all_reduce in place " << name(op);

        const std::vector<T> in = values<T>(rank_, count_);
        std::vector<T> out(count_);
        group_.all_reduce(in, out, op);
        EXPECT_EQ(out, expected) << "all_reduce " << name(op);
        EXPECT_EQ(in, values<T>(rank_, count_)) << "all_reduce changed its input";

        const Root root(static_cast<int>(count_) % size_);
        data = values<T>(rank_, count_);
        group_.reduce(data, root, op);
        EXPECT_EQ(data, rank_ == root.rank ? expected : values<T>(rank_, count_))
            << "reduce " << name(op);

        const std::vector<T> wide = values<T>(rank_, whole_);
        const std::vector<T> all = reduced<T>(size_, whole_, op);
        group_.reduce_scatter(wide, out, op);
        const auto slice = all.begin() + rank_ * static_cast<std::ptrdiff_t>(count_);
        EXPECT_EQ(out, std::vector<T>(slice, slice + static_cast<std::ptrdiff_t>(count_)))
            << "reduce_scatter " << name(op);
    }

    void gathers() {
        std::vector<T> expected;
        for (int rank = 0; rank < size_; ++rank) append(expected, values<T>(rank, count_));
        std::vector<T> out(whole_);
        group_.all_gather(values<T>(rank_, count_), out);
        EXPECT_EQ(out, expected) << "all_gather";

        std::vector<T> own_slice(whole_);
        const std::span<T> slice =
            std::span(own_slice).subspan(static_cast<std::size_t>(rank_) * count_, count_);
        std::ranges::copy(values<T>(rank_, count_), slice.begin());
        group_.all_gather(slice, own_slice);
        EXPECT_EQ(own_slice, expected) << "all_gather from its own slice";
    }

    void rooted(Root root) {
        std::vector<T> data = values<T>(rank_, count_);
        group_.broadcast(data, root);
        EXPECT_EQ(data, values<T>(root.rank, count_)) << "broadcast from " << root.rank;

        std::vector<T> expected;
        for (int rank = 0; rank < size_; ++rank) append(expected, values<T>(rank, count_));
        std::vector<T> out(rank_ == root.rank ? whole_ : 0);
        group_.gather(values<T>(rank_, count_), out, root);
        if (rank_ == root.rank) {
            EXPECT_EQ(out, expected) << "gather to " << root.rank;
        }

        const std::vector<T> in = rank_ == root.rank ? expected : std::vector<T>{};
        std::vector<T> part(count_);
        group_.scatter(in, part, root);
        EXPECT_EQ(part, values<T>(rank_, count_)) << "scatter from " << root.rank;
    }

    void exchanges() {
        // Block b of rank r holds the values of rank 10 r + b.
        std::vector<T> in;
        std::vector<T> expected;
        for (int other = 0; other < size_; ++other) {
            append(in, values<T>(10 * rank_ + other, count_));
            append(expected, values<T>(10 * other + rank_, count_));
        }
        std::vector<T> out(whole_);
        group_.all_to_all(in, out);
        EXPECT_EQ(out, expected) << "all_to_all";

        // Around the ring, both ways.
        const Peer next((rank_ + 1) % size_);
        const Peer previous((rank_ + size_ - 1) % size_);
        for (const auto& [to, from] : {std::pair(next, previous), std::pair(previous, next)}) {
            std::vector<T> got(count_);
            Work receive = group_.recv_async(got, from, Tag(3));
            group_.send(values<T>(rank_, count_), to, Tag(3));
            receive.wait();
            EXPECT_EQ(got, values<T>(from.rank, count_)) << "send and recv";
        }
    }

    Group group_;
    int rank_;
    int size_;
    std::size_t count_;
    std::size_t whole_;
};

// The dtypes matter where the kernels differ, the counts where the links do: not every pair of
// them.
void run_all(int ranks, const WorldOptions& options, const std::vector<std::size_t>& counts) {
    run_ranks(
        ranks,
        [&](World& world) {
            for (const std::size_t count : counts) {
                SCOPED_TRACE(testing::Message() << ranks << " ranks, " << count << " elements");
                Cells<float>(world, count).all();
                if (count > 1000) continue;
                Cells<double>(world, count).all();
                Cells<std::int32_t>(world, count).all();
                Cells<std::int64_t>(world, count).all();
                Cells<std::uint8_t>(world, count).all();
            }
        },
        options);
}

using Case = std::tuple<int, Transport>;

std::string case_name(const testing::TestParamInfo<Case>& tested) {
    const auto [ranks, transport] = tested.param;
    return (transport == Transport::tcp ? "tcp" : "shm") + std::to_string(ranks);
}

class Collectives : public testing::TestWithParam<Case> {};

TEST_P(Collectives, SmallAndOddCounts) {
    const auto [ranks, transport] = GetParam();
    run_all(ranks, test_options(transport), {0, 1, 3, 17, 1000, 9001});
}

INSTANTIATE_TEST_SUITE_P(All, Collectives,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 7, 8, 9),
                                          testing::Values(Transport::automatic, Transport::tcp)),
                         case_name);

class LargeCollectives : public testing::TestWithParam<Case> {};

// Above every eager limit, and above what one piece of the direct algorithm holds.
TEST_P(LargeCollectives, GiveTheSameValues) {
    const auto [ranks, transport] = GetParam();
    run_all(ranks, test_options(transport), {200'001});
}

INSTANTIATE_TEST_SUITE_P(All, LargeCollectives,
                         testing::Combine(testing::Values(2, 3),
                                          testing::Values(Transport::automatic, Transport::tcp)),
                         case_name);

// Every algorithm of the table, forced, where several serve one operation.
class Algorithms : public testing::TestWithParam<const char*> {};

TEST_P(Algorithms, GiveTheSameValues) {
    WorldOptions options = test_options();
    options.algorithm = GetParam();
    for (const int ranks : {2, 3, 6}) run_all(ranks, options, {0, 1, 5, 20'000});
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Values("all_reduce:doubling", "all_reduce:ring",
                                         "all_reduce:direct"),
                         [](const auto& tested) {
                             std::string name = tested.param;
                             std::ranges::replace(name, ':', '_');
                             return name;
                         });

}  // namespace
}  // namespace trireme
