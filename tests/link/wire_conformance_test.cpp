// What every wire promises (see link/wire.h), tried on each of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "connected_ranks.h"

namespace trireme::test {
namespace {

std::byte pattern(std::uint64_t position) {
    return static_cast<std::byte>((position * 2654435761U >> 13) & 0xff);
}

std::vector<std::byte> patterned(std::size_t bytes, std::uint64_t from = 0) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = pattern(from + i);
    return out;
}

/// Two ends of one wire; of the wire to oneself, twice the same end.
class WireConformance : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        const std::string& transport = GetParam();
        if (transport == "self") {
            ranks_ = connect_threads({Transport::automatic});
        } else {
            const auto chosen = transport == "shm" ? Transport::shm : Transport::tcp;
            ranks_ = connect_threads({chosen, chosen});
        }
        for (const auto& rank : ranks_) ASSERT_EQ(rank->error_text(), "");
        const int peer = transport == "self" ? 0 : 1;
        left_ = &ranks_.front()->wire(peer);
        right_ = &ranks_.back()->wire(0);
    }

    // Reads everything up to `bytes`, in reads of random size, and checks it. Where the writer is
    // no other thread, it does what an engine does for a writer that waits.
    static void drain(Wire& wire, std::uint64_t& position, std::uint64_t bytes, std::mt19937& dice,
                      Wire* writer = nullptr) {
        std::vector<std::byte> target(300'000);
        while (position < bytes) {
            const std::size_t size = std::uniform_int_distribution<std::size_t>(
                1, dice() % 4 == 0 ? target.size() : 200)(dice);
            const std::size_t want = std::min<std::uint64_t>(size, bytes - position);
            const std::size_t got = wire.read(Bytes(target).first(want));
            ASSERT_LE(got, want);
            for (std::size_t i = 0; i < got; ++i) {
                ASSERT_EQ(target[i], pattern(position + i)) << "at " << position + i;
            }
            position += got;
            if (got == 0 && writer != nullptr && writer->wants_write()) writer->descriptor_ready();
            if (got == 0) std::this_thread::yield();
        }
    }

    // A writer that has written everything may still hold the rest of a head.
    void flush_left() {
        while (left_->wants_write()) {
            left_->descriptor_ready();
            std::this_thread::yield();
        }
    }

    std::vector<std::unique_ptr<ConnectedRank>> ranks_;
    Wire* left_ = nullptr;
    Wire* right_ = nullptr;
};

TEST_P(WireConformance, NamesItself) {
    EXPECT_EQ(left_->transport(), GetParam());
    EXPECT_GT(left_->eager_limit(), 0U);
    EXPECT_FALSE(left_->closed());
    EXPECT_EQ(left_->descriptor() >= 0, GetParam() != "self");
    EXPECT_EQ(left_->in_memory(), GetParam() != "tcp");
}

TEST_P(WireConformance, KeepsBytesAndOrder) {
    const bool alone = left_ == right_;
    constexpr std::uint64_t total = 8'000'000;
    std::uint64_t received = 0;
    std::mt19937 read_dice(7);
    const auto write_all = [&] {
        std::mt19937 dice(5);
        std::uint64_t sent = 0;
        while (sent < total) {
            const auto head = patterned(std::min<std::uint64_t>(dice() % 129, total - sent), sent);
            const std::size_t most = dice() % 3 == 0 ? 200'000 : 100;
            const auto body =
                patterned(std::min<std::uint64_t>(dice() % most, total - sent - head.size()),
                          sent + head.size());
            std::size_t done = 0;
            while (done < head.size() + body.size()) {
                const bool head_is_out = done >= head.size() && done > 0;
                const std::size_t taken =
                    head_is_out ? left_->write({}, ConstBytes(body).subspan(done - head.size()))
                                : left_->write(head, body);
                ASSERT_TRUE(done > 0 || taken == 0 || taken >= head.size());
                done += taken;
                ASSERT_LE(done, head.size() + body.size());
                if (taken == 0) {
                    if (alone) {
                        drain(*right_, received, sent + done, read_dice);
                    } else {
                        std::this_thread::yield();
                    }
                }
            }
            sent += done;
        }
        flush_left();
    };
    std::thread writer;
    if (alone) {
        write_all();
    } else {
        writer = std::thread(write_all);
    }
    drain(*right_, received, total, read_dice);
    if (writer.joinable()) writer.join();
    EXPECT_EQ(received, total);
    EXPECT_TRUE(right_->peek(1).empty());
}

TEST_P(WireConformance, TakesNoMoreThanItHasRoomForAndGoesOnLater) {
    constexpr std::size_t piece = 5000;
    std::uint64_t sent = 0;
    // Nobody reads: sooner or later nothing is taken any more.
    ASSERT_TRUE(eventually([&] {
        const std::size_t taken = left_->write({}, patterned(piece, sent));
        sent += taken;
        return taken == 0;
    }));
    std::uint64_t received = 0;
    std::mt19937 dice(3);
    drain(*right_, received, sent, dice, left_);
    ASSERT_TRUE(eventually([&] {
        const std::size_t taken = left_->write({}, patterned(piece, sent));
        sent += taken;
        return taken > 0;
    }));
    drain(*right_, received, sent, dice, left_);
    EXPECT_EQ(received, sent);
}

TEST_P(WireConformance, NeverSplitsAHead) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::mt19937 dice(11);
    for (int round = 0; round < 40; ++round) {
        for (;;) {
            const auto head = patterned(1 + dice() % 128, sent);
            const std::size_t taken = left_->write(head, {});
            ASSERT_TRUE(taken == 0 || taken == head.size()) << taken << " of " << head.size();
            sent += taken;
            if (taken == 0) break;
        }
        // Some room, at odd places.
        const std::uint64_t some = received + std::min<std::uint64_t>(sent - received, 3000);
        drain(*right_, received, some, dice, left_);
    }
    drain(*right_, received, sent, dice, left_);
}

TEST_P(WireConformance, ShowsHeadsAndElementsWhole) {
    struct Head {
        std::uint64_t length;
        std::uint64_t check[7];
    };
    const bool alone = left_ == right_;
    constexpr int messages = 3000;
    constexpr std::size_t width = 16;
    std::mt19937 dice(13);
    std::vector<std::uint64_t> lengths(messages);
    for (auto& length : lengths) length = dice() % (dice() % 8 == 0 ? 4000 : 20) * width;

    int shown = 0;
    std::uint64_t body_left = 0;
    const auto look = [&] {
        while (shown < messages || body_left > 0) {
            if (body_left > 0) {
                const ConstBytes view = right_->peek(width);
                if (view.size() < width) return;
                const std::size_t bytes =
                    std::min<std::uint64_t>(view.size() / width * width, body_left);
                body_left -= bytes;
                right_->consume(bytes);
            } else {
                const ConstBytes view = right_->peek(sizeof(Head));
                if (view.size() < sizeof(Head)) return;
                Head head;
                std::memcpy(&head, view.data(), sizeof(head));
                ASSERT_EQ(head.length, lengths[static_cast<std::size_t>(shown)]);
                for (const auto check : head.check) ASSERT_EQ(check, head.length * 3 + 1);
                right_->consume(sizeof(Head));
                body_left = head.length;
                ++shown;
            }
        }
    };
    const auto write_all = [&] {
        const std::vector<std::byte> body(4000 * width);
        for (const std::uint64_t length : lengths) {
            Head head{length, {}};
            std::fill(std::begin(head.check), std::end(head.check), length * 3 + 1);
            const auto* bytes = reinterpret_cast<const std::byte*>(&head);
            std::size_t done = 0;
            while (done < sizeof(head) + length) {
                const std::size_t out = done > 0 ? done - sizeof(head) : 0;
                done += left_->write(done > 0 ? ConstBytes{} : ConstBytes{bytes, sizeof(head)},
                                     ConstBytes(body).subspan(out, length - out));
                if (alone) look();
            }
        }
        flush_left();
    };
    std::thread writer;
    if (alone) {
        write_all();
    } else {
        writer = std::thread(write_all);
    }
    EXPECT_TRUE(eventually([&] {
        look();
        return shown == messages && body_left == 0;
    }));
    if (writer.joinable()) writer.join();
}

TEST_P(WireConformance, PeekShowsTheSameUntilItIsConsumed) {
    const auto bytes = patterned(100);
    ASSERT_EQ(left_->write(ConstBytes(bytes).first(32), ConstBytes(bytes).subspan(32)), 100U);
    ASSERT_TRUE(eventually([&] { return right_->peek(100).size() >= 100; }));
    EXPECT_EQ(std::memcmp(right_->peek(1).data(), bytes.data(), 100), 0);
    right_->consume(1);
    EXPECT_EQ(std::memcmp(right_->peek(1).data(), bytes.data() + 1, 99), 0);
    right_->consume(0);
    right_->consume(99);
    EXPECT_TRUE(right_->peek(1).empty());
}

TEST_P(WireConformance, ClosesOnlyBehindTheLastByte) {
    constexpr std::size_t size = 50'000;
    std::uint64_t sent = left_->write({}, patterned(size));
    ASSERT_GT(sent, 0U);
    left_->shut_down();
    EXPECT_EQ(left_->write({}, patterned(8)), 0U);
    if (left_ != right_) ranks_.front()->connections.peers.clear();
    std::uint64_t received = 0;
    while (received < sent) {
        right_->descriptor_ready();
        ASSERT_FALSE(right_->closed());
        std::byte target[1000];
        const std::size_t bytes =
            right_->read(Bytes(target).first(std::min<std::uint64_t>(1000, sent - received)));
        for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(target[i], pattern(received + i));
        received += bytes;
    }
    EXPECT_TRUE(eventually([&] {
        right_->descriptor_ready();
        return right_->peek(1).empty() && right_->closed();
    }));
}

TEST_P(WireConformance, WritingToAClosedPeerDoesNoHarm) {
    if (left_ == right_) return;
    ranks_.front()->connections.peers.clear();
    for (int i = 0; i < 1000; ++i) {
        const std::size_t taken = right_->write(patterned(64), patterned(100));
        ASSERT_LE(taken, 164U);
    }
    EXPECT_TRUE(eventually([&] {
        right_->descriptor_ready();
        return right_->peek(1).empty() && right_->closed();
    }));
}

INSTANTIATE_TEST_SUITE_P(Each, WireConformance, testing::Values("self", "shm", "tcp"),
                         [](const auto& suite_info) { return suite_info.param; });

}  // namespace
}  // namespace trireme::test
