// The ring of cache lines between two ranks of one host, both sides on one mapping.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "link/shm/ring.h"

namespace trireme::shm {
namespace {

class ShmRing : public testing::Test {
protected:
    std::unique_ptr<Region> region_ = std::make_unique<Region>();
    RingWriter writer_{*region_};
    RingReader reader_{*region_};
};

std::vector<std::byte> filled(std::size_t bytes, unsigned value) {
    return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

void skip(RingReader& reader, std::size_t bytes) {
    while (bytes > 0) {
        const ConstBytes view = reader.peek();
        ASSERT_FALSE(view.empty());
        const std::size_t some = std::min(bytes, view.size());
        reader.consume(some);
        bytes -= some;
    }
}

// Advances both sides by so many lines, and leaves no byte of them as it was.
void go_on(RingWriter& writer, RingReader& reader, std::size_t lines) {
    while (lines > 0) {
        const std::size_t some = std::min(lines, record_lines);
        const std::size_t bytes = (some - 1) * line_bytes + 56;
        const auto body = filled(bytes - std::min<std::size_t>(bytes, 32), 0xff);
        ASSERT_EQ(writer.write(filled(bytes - body.size(), 0xff), body), bytes);
        skip(reader, bytes);
        lines -= some;
    }
}

TEST_F(ShmRing, AShortMessageIsOneLine) {
    std::vector<std::byte> before(region_->ring, region_->ring + sizeof(region_->ring));
    ASSERT_EQ(writer_.write(filled(32, 1), filled(24, 2)), 56U);
    EXPECT_EQ(std::memcmp(region_->ring + line_bytes, before.data() + line_bytes,
                          before.size() - line_bytes),
              0);
    EXPECT_EQ(reader_.peek().size(), 56U);
}

// Every size, at every place near the end of the ring, with all bytes set: leftovers of one lap
// must not look like records in the next.
TEST_F(ShmRing, EverySizeAroundTheEdge) {
    constexpr std::size_t longest = record_lines * line_bytes + 200;
    for (std::size_t bytes = 1; bytes <= longest; bytes += bytes < 600 ? 1 : 61) {
        for (std::size_t before : {70U, 65U, 64U, 63U, 9U, 5U, 4U, 3U, 2U, 1U, 0U}) {
            auto region = std::make_unique<Region>();
            RingWriter writer(*region);
            RingReader reader(*region);
            ASSERT_NO_FATAL_FAILURE(go_on(writer, reader, ring_lines - before));
            for (unsigned value : {0xffU, 0x54U, 0x01U}) {
                const auto head = filled(std::min<std::size_t>(bytes, 40), value);
                const auto body = filled(bytes - head.size(), value + 1);
                ASSERT_EQ(writer.write(head, body), bytes);
                for (std::size_t got = 0; got < bytes;) {
                    const ConstBytes view = reader.peek();
                    ASSERT_FALSE(view.empty());
                    std::vector<std::byte> all = head;
                    all.insert(all.end(), body.begin(), body.end());
                    ASSERT_EQ(std::memcmp(view.data(), all.data() + got, view.size()), 0);
                    got += view.size();
                    reader.consume(view.size());
                }
                ASSERT_TRUE(reader.peek().empty());
                ASSERT_TRUE(reader.empty());
            }
        }
    }
}

TEST_F(ShmRing, BodiesAreCutAtWholeElements) {
    const auto body = filled(200'000, 3);
    std::size_t sent = writer_.write(filled(32, 1), body) - 32;
    while (sent < body.size()) {
        ConstBytes view = reader_.peek();
        ASSERT_FALSE(view.empty());
        const bool last = sent == body.size() && view.size() < cut_bytes;
        ASSERT_TRUE(last || view.size() % cut_bytes == 0 || view.size() % cut_bytes == 32)
            << view.size();
        reader_.consume(view.size());
        sent += writer_.write({}, ConstBytes(body).subspan(sent));
    }
}

TEST_F(ShmRing, AFullRingTakesMoreOnceAQuarterIsConsumed) {
    std::size_t records = 0;
    while (writer_.write(filled(48, 7), {}) != 0) ++records;
    EXPECT_EQ(records, ring_lines - 1);
    bool told = false;
    for (std::size_t i = 0; i < ring_lines / 4; ++i) {
        EXPECT_FALSE(told);
        EXPECT_EQ(writer_.write(filled(48, 7), {}), 0U);
        ASSERT_EQ(reader_.peek().size(), 48U);
        told = reader_.consume(48);
    }
    EXPECT_TRUE(told);
    EXPECT_EQ(writer_.write(filled(48, 7), {}), 48U);
}

// From every place, with every state of the reader's unpublished count, there is room once all has
// been consumed.
TEST_F(ShmRing, AnEmptyRingAlwaysHasRoom) {
    for (std::size_t place = 0; place < 3 * ring_lines; ++place) {
        ASSERT_GE(writer_.write(filled(128, 1), filled(128, 2)), 128U + 128U);
        ASSERT_NO_FATAL_FAILURE(skip(reader_, 256));
        ASSERT_EQ(writer_.write(filled(1, 1), {}), 1U);
        ASSERT_NO_FATAL_FAILURE(skip(reader_, 1));
    }
}

TEST_F(ShmRing, NonsenseBreaksIt) {
    for (const std::uint64_t word :
         {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0x5452'0001} << 32,
          std::uint64_t{0x5452'0001} << 32 | 0xffff'ffff,
          std::uint64_t{0x5452'0001} << 32 | (ring_lines * line_bytes - 7),
          std::uint64_t{0x5452'0002} << 32 | 5, std::uint64_t{0x5452'0003} << 32 | 8}) {
        auto region = std::make_unique<Region>();
        std::memcpy(region->ring, &word, sizeof(word));
        RingReader reader(*region);
        EXPECT_TRUE(reader.peek().empty()) << word;
        EXPECT_TRUE(reader.broken()) << word;
        EXPECT_TRUE(reader.empty()) << word;
    }
    // A reader's count that cannot be: the writer stops, and nothing else.
    ASSERT_EQ(writer_.write(filled(8, 1), {}), 8U);
    region_->consumed.store(~std::uint64_t{0} / 2);
    while (writer_.write(filled(48, 7), filled(4000, 7)) != 0) {
    }
}

// The writer's and the reader's thread, small records of all sizes up to four lines.
TEST_F(ShmRing, AMillionRecordsBetweenTwoThreads) {
    constexpr std::uint64_t records = 1'000'000;
    const auto size_of = [](std::uint64_t i) { return 8 + i * 7919 % 230; };
    std::thread writing([&] {
        std::byte bytes[256];
        for (std::uint64_t i = 0; i < records; ++i) {
            std::memset(bytes, 0xff, sizeof(bytes));
            std::memcpy(bytes, &i, sizeof(i));
            const std::size_t head = std::min<std::size_t>(size_of(i), 128);
            const ConstBytes all(bytes, size_of(i));
            std::size_t taken = 0;
            while ((taken = writer_.write(all.first(head), all.subspan(head))) == 0) {
                std::this_thread::yield();
            }
            // Only a cut body can be left over, and these are too short to be cut.
            ASSERT_EQ(taken, size_of(i));
        }
    });
    for (std::uint64_t i = 0; i < records; ++i) {
        ConstBytes view;
        while ((view = reader_.peek()).empty()) {
            ASSERT_FALSE(reader_.broken());
            std::this_thread::yield();
        }
        std::uint64_t number = 0;
        std::memcpy(&number, view.data(), sizeof(number));
        ASSERT_EQ(number, i);
        ASSERT_EQ(view.size(), size_of(i));
        ASSERT_EQ(view.back(), view.size() > 8 ? std::byte{0xff} : view.back());
        reader_.consume(view.size());
    }
    writing.join();
}

}  // namespace
}  // namespace trireme::shm
