// Frames that no rank sends: an error or nothing, never a crash, and never a write where nobody
// asked for it.

#include <gmock/gmock.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "link_pair.h"
#include "reduce/kernel.h"

namespace trireme::test {
namespace {

using testing::HasSubstr;

/// A link on the right; on the left a wire, and a test that writes what it likes.
class LinkMalformed : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == "pipe") {
            auto [a, b] = PipeWire::pair();
            wire_ = std::move(a);
            right_ = std::make_unique<LinkEnd>(0, std::move(b), nullptr);
            return;
        }
        const auto chosen = GetParam() == "tcp" ? Transport::tcp : Transport::shm;
        ranks_ = connect_threads({chosen, chosen});
        for (const auto& rank : ranks_) ASSERT_EQ(rank->error_text(), "");
        wire_ = std::move(ranks_[0]->connections.peers[1].wire);
        Connection& connection = ranks_[1]->connections.peers[0];
        right_ =
            std::make_unique<LinkEnd>(0, std::move(connection.wire), std::move(connection.memory));
    }

    // Writes it all, while the link reads; what the link cannot take any more is dropped.
    void write(const Envelope& envelope, ConstBytes rest = {}) {
        const ConstBytes head = std::as_bytes(std::span(&envelope, 1));
        std::size_t done = 0;
        for (int looks = 0; done < head.size() + rest.size() && looks < 1000; ++looks) {
            done += done == 0 ? wire_->write(head, rest)
                              : wire_->write({}, rest.subspan(done - head.size()));
            right_->pump();
        }
        settle();
    }
    template <class Body>
    void write_body(const Envelope& envelope, const Body& body) {
        write(envelope, std::as_bytes(std::span(&body, 1)));
    }
    void settle() {
        for (int i = 0; i < 50; ++i) {
            right_->pump();
            if (wire_->wants_write()) wire_->descriptor_ready();
            if (GetParam() == "tcp") std::this_thread::yield();
        }
    }
    [[nodiscard]] bool lost_with(const std::string& text) {
        const auto& lost = right_->listener.lost;
        return eventually([&] {
                   right_->pump();
                   return !lost.empty();
               }) &&
               std::string(lost.front().what()).find(text) != std::string::npos;
    }
    // The link still takes a message.
    void expect_alive() {
        ASSERT_TRUE(right_->listener.lost.empty()) << right_->listener.lost.front().what();
        const auto data = numbered(40, 8);
        std::vector<std::byte> target(40);
        const Key key{.stream = 99, .sequence = 1, .tag = 0};
        const auto received = receive(*right_, key, target);
        write({.kind = FrameKind::eager, .key = key, .fingerprint = usual, .length = 40}, data);
        ASSERT_TRUE(eventually([&] {
            right_->pump();
            return received->done();
        }));
        EXPECT_EQ(target, data);
    }
    // Offers a message for a posted receive and returns the number under which it is accepted.
    [[nodiscard]] std::uint32_t accepted(const Key& key, std::size_t bytes) {
        write_body({.kind = FrameKind::offer, .key = key, .fingerprint = usual, .length = bytes},
                   OfferBody{.transfer = 7});
        constexpr std::size_t size = sizeof(Envelope) + sizeof(AcceptBody);
        EXPECT_TRUE(eventually([&] { return wire_->peek(size).size() >= size; }));
        AcceptBody body;
        std::memcpy(&body, wire_->peek(size).data() + sizeof(Envelope), sizeof(body));
        wire_->consume(size);
        return body.transfer;
    }

    std::vector<std::unique_ptr<ConnectedRank>> ranks_;
    std::unique_ptr<Wire> wire_;
    std::unique_ptr<LinkEnd> right_;
};

constexpr Key some_key{.stream = 1, .sequence = 1, .tag = 0};
constexpr std::uint64_t absurd = std::uint64_t{1} << 62;

TEST_P(LinkMalformed, UnknownKind) {
    write({.kind = static_cast<FrameKind>(200)});
    EXPECT_TRUE(lost_with("a frame of unknown kind"));
}

TEST_P(LinkMalformed, AnEagerMessageOfAbsurdLength) {
    write({.kind = FrameKind::eager, .key = some_key, .fingerprint = usual, .length = absurd});
    EXPECT_TRUE(lost_with("an eager message too long"));
}

TEST_P(LinkMalformed, AnOfferOfAbsurdLengthCostsNothing) {
    write_body({.kind = FrameKind::offer, .key = some_key, .fingerprint = usual, .length = absurd},
               OfferBody{.transfer = 1});
    expect_alive();
    std::vector<std::byte> target(100);
    const auto received = receive(*right_, some_key, target);
    EXPECT_TRUE(received->error());
}

TEST_P(LinkMalformed, AnOfferThatContradictsItself) {
    write_body({.kind = FrameKind::offer, .key = some_key, .fingerprint = usual, .length = 100},
               OfferBody{.transfer = 1, .source = {.address = 1, .length = 50, .generation = 1}});
    EXPECT_TRUE(lost_with("an offer whose lengths differ"));
}

TEST_P(LinkMalformed, AnOfferOfMemoryThatIsNotThere) {
    std::vector<std::byte> target(100, std::byte{5});
    for (const std::uint32_t slot : {0U, 63U, 64U, 0xffffffffU}) {
        const auto received = receive(*right_, {.stream = 1, .sequence = slot, .tag = 0}, target);
        write_body(
            {.kind = FrameKind::offer,
             .key = {.stream = 1, .sequence = slot, .tag = 0},
             .fingerprint = usual,
             .length = 100},
            OfferBody{.transfer = 1,
                      .source = {.address = 8, .length = 100, .slot = slot, .generation = 3}});
        EXPECT_FALSE(received->done());
        EXPECT_EQ(target, std::vector<std::byte>(100, std::byte{5}));
    }
    // Without memory the link answers instead, and the answers would fill the narrow wire.
    if (GetParam() != "pipe") expect_alive();
}

TEST_P(LinkMalformed, NumbersThatWereNeverGivenAreIgnored) {
    const auto large = numbered(right_->eager_limit + 1, 1);
    const auto offered = send(*right_, some_key, large);
    while (!wire_->peek(1).empty()) wire_->consume(wire_->peek(1).size());
    std::mt19937 dice(3);
    for (int i = 0; i < 200; ++i) {
        const Key key{
            .stream = 1, .sequence = static_cast<std::uint32_t>(dice()) | 1U << 31, .tag = 0};
        switch (i % 3) {
            case 0: write_body({.kind = FrameKind::accept, .key = key}, AcceptBody{}); break;
            case 1: write({.kind = FrameKind::taken, .key = key}); break;
            default: write({.kind = FrameKind::data, .key = key, .length = 100}, numbered(100, 1));
        }
    }
    EXPECT_FALSE(offered->done());
    expect_alive();
}

TEST_P(LinkMalformed, MoreDataThanWasOffered) {
    std::vector<std::byte> target(100);
    const auto received = receive(*right_, some_key, target);
    const std::uint32_t number = accepted(some_key, 100);
    const Key key{.stream = 1, .sequence = number, .tag = 0};
    write({.kind = FrameKind::data, .key = key, .length = 60}, numbered(60, 1));
    EXPECT_FALSE(received->done());
    write({.kind = FrameKind::data, .key = key, .length = 60}, numbered(60, 1));
    EXPECT_TRUE(lost_with("more data than was offered"));
    right_->pump();
    EXPECT_TRUE(received->error());
}

TEST_P(LinkMalformed, APartOfAnElement) {
    std::vector<double> target(10);
    const auto bytes = std::as_writable_bytes(std::span(target));
    const Combine add = Combine::of(Dtype::float64, sum);
    const auto received = receive(*right_, some_key, bytes,
                                  {.combine = &add, .element_bytes = 8, .local = bytes.data()});
    const std::uint32_t number = accepted(some_key, 80);
    write(
        {.kind = FrameKind::data, .key = {.stream = 1, .sequence = number, .tag = 0}, .length = 3},
        numbered(3, 1));
    EXPECT_TRUE(lost_with("a part of an element"));
}

TEST_P(LinkMalformed, Aborts) {
    write({.kind = FrameKind::abort, .key = {.stream = 1, .sequence = 2, .tag = 2}, .length = 8},
          numbered(8, 1));
    EXPECT_EQ(right_->listener.failed.size(), 1U);  // two ranks and no text
    expect_alive();
    write({.kind = FrameKind::abort, .key = {.stream = 1, .sequence = 2, .tag = -1}, .length = 8},
          numbered(8, 1));
    EXPECT_TRUE(lost_with("a malformed reason"));
}

TEST_P(LinkMalformed, AnAbortOfAbsurdLength) {
    write({.kind = FrameKind::abort, .key = some_key, .length = absurd});
    EXPECT_TRUE(lost_with("a reason of absurd length"));
}

TEST_P(LinkMalformed, RandomFramesDoNoHarm) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 dice(seed);
    std::vector<std::byte> target(64);
    std::vector<MessagePtr> messages;
    for (std::uint32_t i = 0; i < 20; ++i) {
        const Key key{.stream = i % 3, .sequence = i % 4, .tag = 0};
        messages.push_back(receive(*right_, key, target));
        messages.push_back(send(*right_, key, target));
    }
    for (int i = 0; i < 400 && right_->listener.lost.empty(); ++i) {
        const auto kind = static_cast<FrameKind>(1 + dice() % 7);
        const std::size_t bytes = dice() % 100;
        Envelope envelope{
            .kind = kind,
            .key = {.stream = static_cast<std::uint32_t>(dice() % 3),
                    .sequence = static_cast<std::uint32_t>(dice() % 4 + (dice() % 2 << 20)),
                    .tag = static_cast<std::int32_t>(dice() % 3) - 1},
            .fingerprint = usual + dice() % 2,
            .length = bytes};
        std::vector<std::byte> rest = numbered(body_bytes(kind) + bytes, dice());
        write(envelope, rest);
        while (!wire_->peek(1).empty()) wire_->consume(wire_->peek(1).size());
    }
    for (int i = 0; i < 20; ++i)
        write({.kind = static_cast<FrameKind>(dice())}, numbered(90, dice()));
}

INSTANTIATE_TEST_SUITE_P(Each, LinkMalformed, testing::Values("pipe", "shm", "tcp"),
                         [](const auto& suite_info) { return suite_info.param; });

}  // namespace
}  // namespace trireme::test
