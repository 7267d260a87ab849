// What is recycled: blocks, coroutine frames, the numbers of transfers.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/block_pool.h"
#include "core/frame_pool.h"
#include "link/transfer_table.h"

namespace trireme {
namespace {

TEST(BlockPool, GivesBlocksThatAreApartAndAligned) {
    BlockPool pool;
    std::vector<BlockPool::Block> blocks;
    for (const std::size_t bytes : {0UL, 1UL, 63UL, 4096UL, 5000UL, 1UL << 20, 3UL << 20}) {
        blocks.push_back(pool.take(bytes));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().data()) % BlockPool::alignment,
                  0U);
        std::memset(blocks.back().data(), static_cast<int>(blocks.size()), bytes);
    }
    EXPECT_EQ(blocks[6].data()[(3UL << 20) - 1], std::byte{7});
    EXPECT_EQ(blocks[4].data()[4999], std::byte{5});
}

TEST(BlockPool, UsesABlockAgain) {
    BlockPool pool;
    std::byte* first = nullptr;
    {
        const auto block = pool.take(100'000);
        first = block.data();
    }
    {
        const auto block = pool.take(90'000);
        EXPECT_EQ(block.data(), first);
        const auto other = pool.take(90'000);
        EXPECT_NE(other.data(), first);
    }
    // Not for something much smaller or larger.
    const auto tiny = pool.take(10);
    EXPECT_NE(tiny.data(), first);
    const auto huge = pool.take(200'000);
    EXPECT_NE(huge.data(), first);
}

TEST(BlockPool, ABlockMayMove) {
    BlockPool pool;
    auto block = pool.take(5000);
    std::byte* const data = block.data();
    {
        const BlockPool::Block moved(std::move(block));
        EXPECT_EQ(moved.data(), data);
    }
    EXPECT_EQ(pool.take(5000).data(), data);  // back in the pool once
    const auto first = pool.take(5000);
    const auto second = pool.take(5000);
    EXPECT_NE(first.data(), second.data());
    const BlockPool::Block none;
    EXPECT_EQ(none.data(), nullptr);
}

TEST(BlockPool, KeepsAtMostSoMuch) {
    BlockPool pool;
    std::vector<BlockPool::Block> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(pool.take(10'000));
    blocks.clear();
    for (int i = 0; i < 5; ++i) blocks.push_back(pool.take(std::size_t{30} << 20));
    blocks.clear();
    const auto still = pool.take(10'000);
    EXPECT_NE(still.data(), nullptr);
}

TEST(FramePool, FramesAreApartAndMayGoBackElsewhere) {
    std::vector<std::pair<void*, std::size_t>> frames;
    std::set<void*> seen;
    for (std::size_t bytes = 1; bytes < 6000; bytes += 97) {
        frames.emplace_back(take_frame(bytes), bytes);
        EXPECT_TRUE(seen.insert(frames.back().first).second);
        std::memset(frames.back().first, 1, bytes);
    }
    std::thread other([&] {
        for (const auto& [frame, bytes] : frames) return_frame(frame, bytes);
        for (auto& [frame, bytes] : frames) frame = take_frame(bytes);
    });
    other.join();
    for (const auto& [frame, bytes] : frames) {
        std::memset(frame, 2, bytes);
        return_frame(frame, bytes);
    }
}

TEST(TransferTable, FindsWhatHasANumber) {
    TransferTable table;
    // Never looked into, so any addresses will do.
    std::vector<std::uint64_t> places(100);
    const auto transfer = [&](std::size_t i) -> Transfer& {
        return *reinterpret_cast<Transfer*>(&places[i]);
    };
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < places.size(); ++i) numbers.push_back(table.add(transfer(i)));
    EXPECT_EQ(std::set<std::uint32_t>(numbers.begin(), numbers.end()).size(), places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        EXPECT_NE(numbers[i], 0U);
        EXPECT_EQ(table.find(numbers[i]), &transfer(i));
    }
    for (const std::uint32_t made_up : {0U, 1U, 99U, 100U, 0xffffffffU, numbers[3] + (1U << 20)})
        EXPECT_EQ(table.find(made_up), nullptr) << made_up;

    table.remove(numbers[3]);
    EXPECT_EQ(table.find(numbers[3]), nullptr);
    const std::uint32_t next = table.add(transfer(3));
    EXPECT_NE(next, numbers[3]);  // the place is the same, the generation is not
    EXPECT_EQ(table.find(next), &transfer(3));
    EXPECT_EQ(table.find(numbers[3]), nullptr);
}

TEST(TransferTable, GenerationsWrapWithoutBecomingZero) {
    TransferTable table;
    std::uint64_t place = 0;
    auto& transfer = *reinterpret_cast<Transfer*>(&place);
    std::uint32_t last = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint32_t number = table.add(transfer);
        ASSERT_NE(number, 0U);
        ASSERT_NE(number, last);
        ASSERT_EQ(table.find(number), &transfer);
        table.remove(number);
        ASSERT_EQ(table.find(number), nullptr);
        last = number;
    }
}

}  // namespace
}  // namespace trireme
