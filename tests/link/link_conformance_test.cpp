// What a link promises of its messages, over every transport.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "link_pair.h"
#include "reduce/kernel.h"

namespace trireme::test {
namespace {

TEST_P(LinkConformance, ReceiveBeforeSend) {
    for (const std::size_t bytes :
         {pair.small(), pair.left().eager_limit, pair.left().eager_limit + 1, pair.large()}) {
        const auto data = numbered(bytes, 1);
        std::vector<std::byte> target(bytes);
        const Key key{.stream = 1, .sequence = 5, .tag = 3};
        const auto received = receive(pair.right(), key, target);
        pair.pump(5);
        EXPECT_FALSE(received->done());
        const auto sent = send(pair.left(), key, data);
        ASSERT_TRUE(pair.until_done(received));
        ASSERT_TRUE(pair.until_done(sent));
        EXPECT_TRUE(received->good() && sent->good());
        EXPECT_EQ(target, data);
    }
    EXPECT_TRUE(pair.right().listener.unexpected.empty());
}

TEST_P(LinkConformance, SendBeforeReceive) {
    for (const std::size_t bytes :
         {pair.small(), pair.left().eager_limit, pair.left().eager_limit + 1, pair.large()}) {
        const auto data = numbered(bytes, 2);
        std::vector<std::byte> target(bytes);
        const Key key{.stream = 1, .sequence = 5, .tag = -3};
        const auto sent = send(pair.left(), key, data);
        ASSERT_TRUE(pair.until([&] { return !pair.right().listener.unexpected.empty(); }));
        EXPECT_EQ(pair.right().listener.unexpected.back().length, bytes);
        pair.right().listener.unexpected.clear();
        pair.pump(5);
        // A short one is on its way without its receiver's help, a long one waits for it.
        EXPECT_TRUE(bytes > pair.small() || sent->done());
        EXPECT_TRUE(bytes <= pair.left().eager_limit || !sent->done());
        const auto received = receive(pair.right(), key, target);
        ASSERT_TRUE(pair.until_done(received));
        ASSERT_TRUE(pair.until_done(sent));
        EXPECT_TRUE(received->good() && sent->good());
        EXPECT_EQ(target, data);
    }
}

TEST_P(LinkConformance, ReportsWhatNoReceiveWaitsFor) {
    const auto data = numbered(pair.small(), 0);
    std::vector<std::byte> target(data.size());
    const Key users{.stream = 1, .sequence = 1, .tag = 0};
    const Key collective{.stream = 1, .sequence = 2, .tag = -1};
    const auto first = send(pair.left(), users, data);
    const auto second = send(pair.left(), collective, data);
    ASSERT_TRUE(pair.until([&] { return pair.right().listener.unexpected.size() == 2; }));
    EXPECT_EQ(pair.right().listener.unexpected.front().key, users);
    const Envelope& envelope = pair.right().listener.unexpected.back();
    EXPECT_EQ(envelope.key, collective);
    EXPECT_EQ(envelope.fingerprint, usual);
    EXPECT_TRUE(pair.right().link->has_message(users));
    EXPECT_FALSE(pair.right().link->has_message({.stream = 1, .sequence = 2, .tag = 0}));
    EXPECT_NE(pair.right().link->find_stranger(1, 2, usual + 1), nullptr);
    EXPECT_EQ(pair.right().link->find_stranger(1, 2, usual), nullptr);
    EXPECT_EQ(pair.right().link->find_stranger(1, 1, usual + 1), nullptr);  // the user's
    EXPECT_EQ(pair.right().link->find_stranger(2, 2, usual + 1), nullptr);
}

TEST_P(LinkConformance, NothingIsAMessageToo) {
    const Key key{.stream = 1, .sequence = 1, .tag = 0};
    for (const bool send_first : {false, true}) {
        MessagePtr sent;
        if (send_first) sent = send(pair.left(), key, {});
        pair.pump(3);
        const auto received = receive(pair.right(), key, {});
        if (!send_first) sent = send(pair.left(), key, {});
        ASSERT_TRUE(pair.until([&] { return sent->done() && received->done(); }));
        EXPECT_TRUE(sent->good() && received->good());
    }
}

TEST_P(LinkConformance, UnexpectedMessagesAreTakenInAnyOrder) {
    constexpr std::uint32_t count = 24;
    std::vector<std::vector<std::byte>> data;
    std::vector<MessagePtr> sent;
    for (std::uint32_t i = 0; i < count; ++i) {
        data.push_back(numbered(i % 3 == 0 ? pair.large() / 4 : pair.small() + i, i));
        sent.push_back(send(pair.left(), {.stream = i % 5, .sequence = i, .tag = 0}, data[i]));
        if (i % 4 == 0) pair.pump();
    }
    pair.pump(20);
    for (std::uint32_t k = 0; k < count; ++k) {
        const std::uint32_t i = (k * 7 + 3) % count;  // 7 and 24 have no common divisor
        std::vector<std::byte> target(data[i].size());
        const auto received =
            receive(pair.right(), {.stream = i % 5, .sequence = i, .tag = 0}, target);
        ASSERT_TRUE(pair.until_done(received)) << i;
        EXPECT_EQ(target, data[i]) << i;
    }
    ASSERT_TRUE(pair.until([&] {
        return std::all_of(sent.begin(), sent.end(), [](const auto& one) { return one->good(); });
    }));
}

TEST_P(LinkConformance, TheSameKeyComesInOrder) {
    constexpr std::size_t count = 40;
    const Key key{.stream = 2, .sequence = 9, .tag = -1};
    std::vector<std::vector<std::byte>> data;
    std::vector<std::vector<std::byte>> targets;
    for (std::size_t i = 0; i < count; ++i)
        data.push_back(numbered(i % 5 == 2 ? pair.large() / 8 : pair.small(), i));
    std::vector<MessagePtr> sent;
    std::vector<MessagePtr> received;
    for (std::size_t i = 0; i < count; ++i) targets.emplace_back(data[i].size());
    // Half of the receives are there before, half after.
    for (std::size_t i = 0; i < count / 2; ++i)
        received.push_back(receive(pair.right(), key, targets[i]));
    for (std::size_t i = 0; i < count; ++i) sent.push_back(send(pair.left(), key, data[i]));
    pair.pump(10);
    for (std::size_t i = count / 2; i < count; ++i)
        received.push_back(receive(pair.right(), key, targets[i]));
    ASSERT_TRUE(pair.until([&] {
        return std::all_of(received.begin(), received.end(), [](auto& one) { return one->done(); });
    }));
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(received[i]->good()) << i;
        EXPECT_EQ(targets[i], data[i]) << i;
    }
}

TEST_P(LinkConformance, ALargeUnawaitedMessageBlocksNoOther) {
    std::vector<std::vector<std::byte>> large;
    std::vector<MessagePtr> waiting;
    for (std::uint32_t i = 0; i < 3; ++i) {
        large.push_back(numbered(pair.large(), i));
        waiting.push_back(send(pair.left(), {.stream = 1, .sequence = i, .tag = 0}, large.back()));
    }
    expect_usable(2);
    for (const auto& one : waiting) EXPECT_FALSE(one->done());
    std::vector<std::byte> target(pair.large());
    for (std::uint32_t i = 3; i-- > 0;) {
        const auto received = receive(pair.right(), {.stream = 1, .sequence = i, .tag = 0}, target);
        ASSERT_TRUE(pair.until([&] { return received->done() && waiting[i]->done(); }));
        EXPECT_EQ(target, large[i]);
    }
}

TEST_P(LinkConformance, ManyStreamsInterleaved) {
    constexpr std::uint32_t streams = 12;
    std::vector<std::vector<std::byte>> data;
    std::vector<std::vector<std::byte>> targets(2 * streams);
    std::vector<MessagePtr> messages;
    for (std::uint32_t s = 0; s < streams; ++s)
        data.push_back(numbered(s % 2 == 0 ? pair.large() / 2 : pair.small(), s));
    for (std::uint32_t s = 0; s < streams; ++s) {
        for (const bool forth : {true, false}) {
            const Key key{.stream = s, .sequence = 1, .tag = forth ? 1 : 2};
            LinkEnd& from = forth ? pair.left() : pair.right();
            LinkEnd& to = forth ? pair.right() : pair.left();
            auto& target = targets[2 * s + (forth ? 0 : 1)];
            target.resize(data[s].size());
            if (s % 3 == 0) messages.push_back(receive(to, key, target));
            messages.push_back(send(from, key, data[s]));
            if (s % 3 != 0) messages.push_back(receive(to, key, target));
        }
    }
    ASSERT_TRUE(pair.until([&] {
        return std::all_of(messages.begin(), messages.end(), [](auto& one) { return one->done(); });
    }));
    for (std::size_t i = 0; i < targets.size(); ++i) EXPECT_EQ(targets[i], data[i / 2]) << i;
}

TEST_P(LinkConformance, ReducesWhatArrives) {
    const Key key{.stream = 1, .sequence = 1, .tag = -1};
    for (const std::size_t bytes : {pair.small(), pair.left().eager_limit / 8 * 8, pair.large()}) {
        for (const bool send_first : {false, true}) {
            for (const bool in_place : {false, true}) {
                const std::size_t count = bytes / sizeof(std::int64_t);
                std::vector<std::int64_t> theirs(count);
                std::vector<std::int64_t> local(count);
                std::iota(theirs.begin(), theirs.end(), 1'000);
                std::iota(local.begin(), local.end(), -3);
                std::vector<std::int64_t> apart(count);
                std::vector<std::int64_t>& target = in_place ? local : apart;
                const Combine add = Combine::of(Dtype::int64, sum);
                const Reduction reduction{.combine = &add,
                                          .element_bytes = sizeof(std::int64_t),
                                          .local = std::as_bytes(std::span(local)).data()};
                MessagePtr sent;
                MessagePtr received;
                if (send_first) {
                    sent = send(pair.left(), key, std::as_bytes(std::span(theirs)));
                    pair.pump(5);
                }
                received = receive(pair.right(), key, std::as_writable_bytes(std::span(target)),
                                   reduction);
                if (!send_first) sent = send(pair.left(), key, std::as_bytes(std::span(theirs)));
                ASSERT_TRUE(pair.until([&] { return sent->done() && received->done(); }));
                ASSERT_TRUE(received->good());
                for (std::size_t i = 0; i < count; ++i)
                    ASSERT_EQ(target[i], 997 + 2 * static_cast<std::int64_t>(i)) << i;
            }
        }
    }
}

TEST_P(LinkConformance, AReceiveClaimsAMessageThatIsStillArriving) {
    if (pair.alone()) GTEST_SKIP() << "what one sends to oneself is there at once";
    // Over the pipe this message goes out in two parts; elsewhere it may be there whole.
    const auto data = numbered(pair.left().eager_limit, 4);
    const Key key{.stream = 1, .sequence = 1, .tag = 0};
    for (const bool twice : {false, true}) {
        const auto sent = send(pair.left(), key, data);
        pair.right().pump();
        std::vector<std::byte> target(data.size());
        std::vector<std::byte> next(data.size());
        const auto received = receive(pair.right(), key, target);
        MessagePtr second;
        MessagePtr second_sent;
        if (twice) {
            second = receive(pair.right(), key, next);
            second_sent = send(pair.left(), key, data);
        }
        ASSERT_TRUE(pair.until(
            [&] { return sent->done() && received->done() && (!twice || second->done()); }));
        EXPECT_EQ(target, data);
        EXPECT_TRUE(!twice || next == data);
    }
}

TRIREME_INSTANTIATE_LINK_SUITE();

}  // namespace
}  // namespace trireme::test
