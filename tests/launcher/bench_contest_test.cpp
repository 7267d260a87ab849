// The check of results that all contestants of `trireme bench` share: that it finds what is wrong.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "contest/buffers.h"

namespace trireme::test {
namespace {

using namespace bench;

constexpr int three = 3;

/// A rank that moves nothing by itself.
class Idle final : public Contestant {
public:
    explicit Idle(int rank) : rank_(rank) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return three; }
    Call prepare(const Cell& /*cell*/, std::span<const Slot> /*slots*/) override { return {}; }
    void barrier() override {}

private:
    int rank_;
};

/// The buffers of three ranks, between which a test moves the data itself, with plain loops.
class Ranks {
public:
    explicit Ranks(const Cell& cell) : cell_(cell) {
        for (int rank = 0; rank < three; ++rank) {
            Idle idle(rank);
            buffers_.push_back(std::make_unique<Buffers>(cell, idle, 2));
            buffers_.back()->poison();
            buffers_.back()->write(2, 5);
        }
    }

    [[nodiscard]] std::size_t part() const { return cell_.part(three); }
    [[nodiscard]] std::int32_t* in(int rank, std::size_t slot) const {
        return reinterpret_cast<std::int32_t*>(buffers_.at(rank)->slots()[slot].in);
    }
    [[nodiscard]] std::int32_t* out(int rank, std::size_t slot) const {
        return reinterpret_cast<std::int32_t*>(buffers_.at(rank)->slots()[slot].out);
    }
    [[nodiscard]] std::uint64_t wrong() const {
        std::uint64_t found = 0;
        for (const auto& buffers : buffers_) found += buffers->wrong(2);
        return found;
    }

private:
    Cell cell_;
    std::vector<std::unique_ptr<Buffers>> buffers_;
};

Cell cell_of(Operation operation, std::size_t bytes = 40'000) {
    return {operation, Element::int32, "sum", bytes, false, false};
}

template <class Move>
void each_slot_and_rank(Move move) {
    for (const std::size_t slot : {0, 1})
        for (int rank = 0; rank < three; ++rank) move(slot, rank);
}

TEST(BenchContest, FindsEachWrongElementOfAnAllReduce) {
    const Ranks ranks(cell_of(Operation::all_reduce));
    ASSERT_EQ(ranks.part(), 10'000U);
    each_slot_and_rank([&](std::size_t slot, int rank) {
        for (std::size_t i = 0; i < ranks.part(); ++i)
            ranks.out(rank, slot)[i] =
                ranks.in(0, slot)[i] + ranks.in(1, slot)[i] + ranks.in(2, slot)[i];
    });
    EXPECT_EQ(ranks.wrong(), 0U);
    ranks.out(1, 0)[0] += 1;
    ranks.out(1, 1)[9'999] += 1;
    ranks.out(2, 1)[5'000] = 0x7fffffff;
    EXPECT_EQ(ranks.wrong(), 3U);
}

TEST(BenchContest, FindsPartsThatAreExchanged) {
    const Ranks ranks(cell_of(Operation::all_to_all));
    const std::size_t part = ranks.part();
    ASSERT_EQ(part, 3'333U);
    each_slot_and_rank([&](std::size_t slot, int rank) {
        for (int from = 0; from < three; ++from)
            std::copy_n(ranks.in(from, slot) + static_cast<std::size_t>(rank) * part, part,
                        ranks.out(rank, slot) + static_cast<std::size_t>(from) * part);
    });
    EXPECT_EQ(ranks.wrong(), 0U);
    std::swap_ranges(ranks.out(0, 0), ranks.out(0, 0) + part, ranks.out(0, 0) + part);
    EXPECT_GT(ranks.wrong(), part);  // values are 0 to 3, so some are right by chance
}

TEST(BenchContest, FindsAScanThatTakesInTooMuch) {
    const Ranks ranks(cell_of(Operation::scan));
    each_slot_and_rank([&](std::size_t slot, int rank) {
        for (std::size_t i = 0; i < ranks.part(); ++i) {
            ranks.out(rank, slot)[i] = 0;
            for (int from = 0; from <= rank; ++from)
                ranks.out(rank, slot)[i] += ranks.in(from, slot)[i];
        }
    });
    EXPECT_EQ(ranks.wrong(), 0U);
    for (std::size_t i = 0; i < ranks.part(); ++i) ranks.out(0, 0)[i] += 1;
    EXPECT_EQ(ranks.wrong(), ranks.part());
}

TEST(BenchContest, TakesNothingForRightThatWasNeverWritten) {
    for (const Operation operation :
         {Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter,
          Operation::all_to_all, Operation::scan, Operation::sendrecv_latency}) {
        const Ranks ranks(cell_of(operation, 12));
        const std::size_t outputs = info(operation).out_has_parts ? three : 1;
        // The third rank has no partner.
        const std::size_t receivers = is_point_to_point(operation) ? 2 : three;
        EXPECT_EQ(ranks.wrong(), 2 * receivers * outputs * ranks.part()) << info(operation).name;
    }
}

TEST(BenchContest, LooksAtARootOnly) {
    const Ranks ranks(cell_of(Operation::gather, 12));
    EXPECT_EQ(ranks.wrong(), 2U * 3U);  // slot 0 has rank 0 for its root, slot 1 rank 1
}

}  // namespace
}  // namespace trireme::test
