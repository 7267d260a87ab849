// Who sleeps is woken by the wire, and nobody else is.

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "connected_ranks.h"

namespace trireme::test {
namespace {

class WireDoorbell : public testing::Test {
protected:
    void SetUp() override {
        ranks_ = connect_threads({Transport::shm, Transport::shm});
        for (const auto& rank : ranks_) ASSERT_EQ(rank->error_text(), "");
    }

    [[nodiscard]] std::uint64_t rings(std::size_t rank) const {
        std::uint64_t count = 0;
        const auto bytes = ::read(ranks_[rank]->doorbell.get(), &count, sizeof(count));
        return bytes == sizeof(count) ? count : 0;
    }
    void sleep(std::size_t rank, bool asleep) const {
        ranks_[rank]->connections.inbox->sleeping().store(asleep ? 1 : 0);
    }
    [[nodiscard]] bool send() const {
        const std::byte bytes[40] = {};
        return ranks_[0]->wire(1).write(bytes, {}) == sizeof(bytes);
    }

    std::vector<std::unique_ptr<ConnectedRank>> ranks_;
};

TEST_F(WireDoorbell, RingsForTheSleeperOnly) {
    ASSERT_TRUE(send());
    EXPECT_EQ(rings(1), 0U);
    sleep(1, true);
    ASSERT_TRUE(send());
    EXPECT_EQ(rings(1), 1U);
    EXPECT_EQ(rings(0), 0U);
    sleep(1, false);
    ASSERT_TRUE(send());
    EXPECT_EQ(rings(1), 0U);
}

TEST_F(WireDoorbell, RingsWhenThereIsRoomForAWriterThatWaits) {
    Wire& reader = ranks_[1]->wire(0);
    const auto read_all = [&] {
        while (!reader.peek(1).empty()) reader.consume(reader.peek(1).size());
    };
    sleep(0, true);
    // A sleeper that could write all it had is left alone.
    for (int i = 0; i < 600; ++i) ASSERT_TRUE(send());
    read_all();
    EXPECT_EQ(rings(0), 0U);
    while (send()) {
    }
    read_all();
    EXPECT_GE(rings(0), 1U);
    ASSERT_TRUE(send());
    read_all();
    EXPECT_EQ(rings(0), 0U);
}

}  // namespace
}  // namespace trireme::test
