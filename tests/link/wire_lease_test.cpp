// The memory verbs over shared memory: leases on memory of another rank.

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "connected_ranks.h"
#include "link/shm/shm_memory.h"

namespace trireme::test {
namespace {

/// Rank 0 owns and publishes; rank 1 reads and writes.
class WireLease : public testing::Test {
protected:
    void SetUp() override {
        ranks_ = connect_threads({Transport::shm, Transport::shm});
        for (const auto& rank : ranks_) ASSERT_EQ(rank->error_text(), "");
        owner_ = ranks_[0]->memory(1);
        peer_ = ranks_[1]->memory(0);
        ASSERT_NE(owner_, nullptr);
        ASSERT_NE(peer_, nullptr);
    }

    [[nodiscard]] shm::Lease& lease(const RemoteBuffer& buffer) {
        return ranks_[0]->connections.inbox->region(1).leases[buffer.slot];
    }

    std::vector<std::unique_ptr<ConnectedRank>> ranks_;
    PeerMemory* owner_ = nullptr;
    PeerMemory* peer_ = nullptr;
};

TEST_F(WireLease, ReadsAndWritesAllSizes) {
    for (const std::size_t bytes : {1UL, 100UL, 4096UL, (1UL << 20) + 1, 5'000'000UL}) {
        std::vector<std::byte> theirs(bytes);
        std::vector<std::byte> mine(bytes);
        for (std::size_t i = 0; i < bytes; ++i) theirs[i] = static_cast<std::byte>(i * 7 >> 3);
        const auto open = owner_->publish(theirs);
        ASSERT_TRUE(open);
        EXPECT_EQ(open->length, bytes);
        EXPECT_NE(open->generation, 0U);
        ASSERT_TRUE(peer_->read(*open, 0, mine));
        EXPECT_EQ(mine, theirs);
        const std::size_t half = bytes / 2;
        std::fill(mine.begin(), mine.end(), std::byte{9});
        ASSERT_TRUE(peer_->write(*open, half, ConstBytes(mine).first(bytes - half)));
        EXPECT_TRUE(std::all_of(theirs.begin() + static_cast<std::ptrdiff_t>(half), theirs.end(),
                                [](std::byte one) { return one == std::byte{9}; }));
        EXPECT_TRUE(half <= 8 || theirs[8] == static_cast<std::byte>(7));
        owner_->withdraw(*open);
    }
}

TEST_F(WireLease, RefusesWhatIsNotPublished) {
    std::vector<std::byte> theirs(1000, std::byte{1});
    std::vector<std::byte> mine(1000, std::byte{2});
    const auto open = owner_->publish(theirs);
    ASSERT_TRUE(open);

    EXPECT_FALSE(peer_->write(*open, 1, mine));
    EXPECT_FALSE(peer_->read(*open, 1, mine));
    EXPECT_FALSE(peer_->read(*open, ~std::size_t{0}, mine));
    RemoteBuffer wrong = *open;
    wrong.slot = shm::lease_slots;
    EXPECT_FALSE(peer_->write(wrong, 0, mine));
    wrong = *open;
    wrong.generation = 0;
    EXPECT_FALSE(peer_->write(wrong, 0, mine));
    wrong = *open;
    ++wrong.generation;
    EXPECT_FALSE(peer_->write(wrong, 0, mine));

    owner_->withdraw(*open);
    EXPECT_FALSE(peer_->write(*open, 0, mine));
    EXPECT_FALSE(peer_->read(*open, 0, mine));
    EXPECT_TRUE(std::all_of(theirs.begin(), theirs.end(),
                            [](std::byte one) { return one == std::byte{1}; }));
}

TEST_F(WireLease, AStaleGenerationStaysStale) {
    std::vector<std::byte> theirs(10);
    std::vector<std::byte> mine(10);
    const auto first = owner_->publish(theirs);
    owner_->withdraw(*first);
    const auto second = owner_->publish(theirs);
    ASSERT_EQ(second->slot, first->slot);
    EXPECT_NE(second->generation, first->generation);
    EXPECT_FALSE(peer_->write(*first, 0, mine));
    owner_->withdraw(*first);  // twice: does not touch the second
    EXPECT_TRUE(peer_->write(*second, 0, mine));
    owner_->withdraw(*second);
}

TEST_F(WireLease, HasSixtyFourSlots) {
    std::vector<std::byte> theirs(10);
    std::vector<RemoteBuffer> open;
    while (const auto one = owner_->publish(theirs)) open.push_back(*one);
    EXPECT_EQ(open.size(), shm::lease_slots);
    owner_->withdraw(open[17]);
    const auto again = owner_->publish(theirs);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->slot, open[17].slot);
}

TEST_F(WireLease, UnmappedMemoryIsRefusedByTheKernel) {
    constexpr std::size_t bytes = 1 << 16;
    void* pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    const auto open = owner_->publish({static_cast<std::byte*>(pages), bytes});
    ::munmap(pages, bytes);
    std::vector<std::byte> mine(bytes);
    EXPECT_FALSE(peer_->read(*open, 0, mine));
    EXPECT_FALSE(peer_->write(*open, 0, mine));
    EXPECT_EQ(lease(*open).busy.load(), 0U);
    owner_->withdraw(*open);
}

TEST_F(WireLease, WithdrawWaitsForAWriter) {
    std::vector<std::byte> theirs(10);
    const auto open = owner_->publish(theirs);
    lease(*open).busy.store(1);
    std::atomic<bool> withdrawn = false;
    std::thread owner([&] {
        owner_->withdraw(*open);
        withdrawn = true;
    });
    ASSERT_TRUE(eventually([&] { return lease(*open).open.load() == 0; }));
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(withdrawn);
    lease(*open).busy.store(0);
    owner.join();
    EXPECT_TRUE(withdrawn);
}

// Whatever the moment: after withdraw the memory does not change any more, and a write that
// reported success has been whole.
TEST_F(WireLease, NothingIsWrittenAfterWithdraw) {
    constexpr std::size_t bytes = 16 << 10;
    constexpr int rounds = 500;
    std::vector<std::byte> theirs(bytes);
    std::atomic<int> turn = 0;
    RemoteBuffer shared;
    std::thread writer([&] {
        const std::vector<std::byte> mine(bytes, std::byte{0xee});
        for (int round = 0; round < rounds; ++round) {
            while (turn.load() <= round) std::this_thread::yield();
            while (peer_->write(shared, 0, mine)) {
            }
            turn.store(-1);
            while (turn.load() == -1) std::this_thread::yield();
        }
    });
    for (int round = 0; round < rounds; ++round) {
        shared = owner_->publish(theirs).value();
        turn.store(round + 1);
        for (int i = 0; i < round % 50 * 40; ++i)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        owner_->withdraw(shared);
        std::fill(theirs.begin(), theirs.end(), std::byte{1});
        while (turn.load() != -1) std::this_thread::yield();
        ASSERT_TRUE(std::all_of(theirs.begin(), theirs.end(),
                                [](std::byte one) { return one == std::byte{1}; }));
        turn.store(0);
    }
    writer.join();
}

TEST_F(WireLease, APeerThatLeftCanBeReachedNoMore) {
    std::vector<std::byte> theirs(10);
    std::vector<std::byte> mine(10);
    const auto open = owner_->publish(theirs);
    ranks_[0]->connections.peers.clear();
    Wire& wire = ranks_[1]->wire(0);
    wire.descriptor_ready();
    EXPECT_TRUE(wire.closed());
    EXPECT_FALSE(peer_->read(*open, 0, mine));
    EXPECT_FALSE(peer_->write(*open, 0, mine));
    // Harmless, as nobody is there to use it: the link tells of the loss.
    EXPECT_TRUE(peer_->publish(mine));
}

}  // namespace
}  // namespace trireme::test
