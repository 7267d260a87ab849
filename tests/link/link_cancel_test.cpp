// Transfers that are taken back, in whatever state they are: the other streams go on, the link
// stays usable, and no credit is lost.

#include <cstdint>
#include <string>
#include <vector>

#include "link_pair.h"
#include "reduce/kernel.h"

namespace trireme::test {
namespace {

enum class Cancelled { sender, receiver, both };

// Takes a large message back after each number of looks, so that every state has its turn.
void cancel_everywhere(LinkPair& pair, Cancelled side, bool reduce,
                       const std::function<void()>& expect_usable) {
    const auto data = numbered(pair.large(), 1);
    const Combine add = Combine::of(Dtype::int32, sum);
    std::uint32_t sequence = 0;
    for (const bool send_first : {true, false}) {
        for (int looks = 0; looks < 14; ++looks) {
            const Key key{.stream = 1, .sequence = ++sequence, .tag = 0};
            std::vector<std::byte> target(data.size());
            const Reduction reduction{.combine = reduce ? &add : nullptr,
                                      .element_bytes = reduce ? sizeof(std::int32_t) : 1,
                                      .local = target.data()};
            MessagePtr sent;
            if (send_first) sent = send(pair.left(), key, data);
            MessagePtr received = receive(pair.right(), key, target, reduction);
            if (!send_first) sent = send(pair.left(), key, data);
            for (int i = 0; i < looks; ++i) i % 2 == 0 ? pair.right().pump() : pair.left().pump();
            if (side != Cancelled::receiver) sent.reset();
            if (side != Cancelled::sender) received.reset();
            ASSERT_NO_FATAL_FAILURE(expect_usable());
            // What was taken back is not written to any more.
            if (side == Cancelled::sender) continue;
            const auto now = target;
            pair.pump(5);
            ASSERT_EQ(target, now);
        }
    }
}

class LinkCancel : public LinkConformance {};

TEST_P(LinkCancel, ALargeSend) {
    for (const bool reduce : {false, true})
        cancel_everywhere(pair, Cancelled::sender, reduce, [&] { expect_usable(); });
}

TEST_P(LinkCancel, ALargeReceive) {
    for (const bool reduce : {false, true})
        cancel_everywhere(pair, Cancelled::receiver, reduce, [&] { expect_usable(); });
}

TEST_P(LinkCancel, BothSides) {
    cancel_everywhere(pair, Cancelled::both, false, [&] { expect_usable(); });
}

TEST_P(LinkCancel, AReceiveWhoseMessageIsStillArriving) {
    if (pair.alone()) GTEST_SKIP() << "what one sends to oneself is there at once";
    const auto data = numbered(pair.left().eager_limit, 1);
    const Key key{.stream = 1, .sequence = 1, .tag = 0};
    for (int round = 0; round < 30; ++round) {
        std::vector<std::byte> target(data.size());
        auto sent = send(pair.left(), key, data);
        pair.right().pump();
        receive(pair.right(), key, target).reset();
        if (round % 2 == 0) sent.reset();
        ASSERT_NO_FATAL_FAILURE(expect_usable());
        {
            const Engine::Turn turn(pair.right().engine);
            pair.right().link->end_stream(1);
        }
    }
}

// How many messages an end can send that nobody takes up, before it must wait for the receiver.
std::size_t unawaited(LinkPair& pair, std::uint32_t stream) {
    const auto data = numbered(pair.left().eager_limit, 0);
    std::vector<MessagePtr> sent;
    for (std::uint32_t i = 0; i < 40; ++i) {
        sent.push_back(send(pair.left(), {.stream = stream, .sequence = i, .tag = 0}, data));
        pair.pump(30);
    }
    std::size_t ended = 0;
    for (const auto& one : sent) ended += one->done() ? 1 : 0;
    return ended;
}

TEST_P(LinkCancel, LosesNoCreditAndMakesNone) {
    const auto data = numbered(pair.left().eager_limit, 0);
    pair.right().listener.retired_streams.insert(9);
    const std::exception_ptr failure = std::make_exception_ptr(Error(ErrorCode::aborted, "test"));
    for (std::uint32_t i = 0; i < 200; ++i) {
        // Taken back, arriving at a stream that is over, and failing while they arrive.
        auto gone = send(pair.left(), {.stream = 9, .sequence = i, .tag = 0}, data);
        gone.reset();
        const auto over = send(pair.left(), {.stream = 9, .sequence = i, .tag = 1}, data);
        const auto failing = send(pair.left(), {.stream = 10 + i, .sequence = i, .tag = 1}, data);
        const int looks = static_cast<int>(i % 5);
        for (int k = 0; k < looks; ++k) pair.pump();
        {
            const Engine::Turn turn(pair.right().engine);
            pair.right().link->fail_stream(10 + i, failure);
        }
        if (pair.alone())
            ASSERT_TRUE(pair.until([&] { return over->done() && failing->done(); }));
        else
            ASSERT_TRUE(pair.until([&] { return over->good() && failing->good(); }));
    }
    pair.pump(30);
    const std::size_t count = unawaited(pair, 8);
    // A few may still be owed to the sender: credit comes back in lots of four.
    EXPECT_GE(count, 11U);
    EXPECT_LE(count, 16U);
}

TEST_P(LinkCancel, AnEndedStreamHoldsNoCredit) {
    for (std::uint32_t stream = 100; stream < 110; ++stream) {
        EXPECT_GE(unawaited(pair, stream), 11U);
        pair.right().listener.retired_streams.insert(stream);
        const Engine::Turn turn(pair.right().engine);
        pair.right().link->end_stream(stream);
    }
    expect_usable();
}

INSTANTIATE_TEST_SUITE_P(Each, LinkCancel,
                         testing::Values("self", "pipe", "shm", "shm_staged", "tcp"),
                         [](const auto& suite_info) { return suite_info.param; });

}  // namespace
}  // namespace trireme::test
