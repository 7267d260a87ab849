// Streams that fail, peers that leave, wires that break, messages that do not fit: what is lost,
// and what is not.

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "link_pair.h"

namespace trireme::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Key some_key{.stream = 1, .sequence = 1, .tag = 0};

TEST_P(LinkConformance, AFailedStreamStaysFailedAndTheOthersGoOn) {
    const auto large = numbered(pair.large(), 1);
    const auto small = numbered(pair.small(), 1);
    std::vector<std::byte> target(pair.large());
    const auto offered = send(pair.right(), some_key, large);
    const auto posted = receive(pair.right(), {.stream = 1, .sequence = 2, .tag = 0}, target);
    const auto other = receive(pair.right(), {.stream = 2, .sequence = 1, .tag = 0}, target);
    const auto early = send(pair.left(), {.stream = 1, .sequence = 9, .tag = -1}, small);
    ASSERT_TRUE(pair.until([&] { return !pair.right().listener.unexpected.empty(); }));
    {
        const Engine::Turn turn(pair.right().engine);
        EXPECT_TRUE(pair.right().link->waits_for_peer(1));
        pair.right().link->fail_stream(
            1, std::make_exception_ptr(Error(ErrorCode::aborted, "test", {4})));
        EXPECT_FALSE(pair.right().link->waits_for_peer(1));
        EXPECT_TRUE(pair.right().link->waits_for_peer(2));
    }
    pair.right().pump();
    for (const auto* one : {&offered, &posted}) {
        ASSERT_TRUE((*one)->error());
        EXPECT_STREQ((*one)->error()->what(), "test");
    }
    EXPECT_FALSE(other->done());
    const auto late_receive = receive(pair.right(), {.stream = 1, .sequence = 9, .tag = -1},
                                      Bytes(target).first(small.size()));
    const auto late_send = send(pair.right(), {.stream = 1, .sequence = 9, .tag = -1}, small);
    EXPECT_TRUE(late_receive->error() && late_send->error());
    expect_usable();
}

TEST_P(LinkConformance, AnAbortCarriesCodeRanksAndText) {
    {
        const Engine::Turn turn(pair.left().engine);
        pair.left().link->send_abort(3, Error(ErrorCode::timeout, "too late", {4, 7}));
        pair.left().link->send_abort(5, Error(ErrorCode::aborted, std::string(100'000, 'x')));
        pair.left().link->send_abort(
            6, Error(ErrorCode::peer_lost, "many", std::vector<int>(100'000, 1)));
    }
    auto& failed = pair.right().listener.failed;
    ASSERT_TRUE(pair.until([&] { return failed.size() == 3; }));
    EXPECT_EQ(failed[0].stream, 3U);
    EXPECT_EQ(failed[0].error.code(), ErrorCode::timeout);
    EXPECT_STREQ(failed[0].error.what(), "too late");
    EXPECT_THAT(failed[0].error.ranks(), ElementsAre(4, 7));
    EXPECT_EQ(failed[1].stream, 5U);
    EXPECT_EQ(std::string(failed[1].error.what()), std::string(16 * 1024, 'x'));
    EXPECT_EQ(failed[2].error.code(), ErrorCode::peer_lost);
    EXPECT_STREQ(failed[2].error.what(), "many");
    EXPECT_TRUE(pair.right().listener.lost.empty());
    expect_usable();
}

TEST_P(LinkConformance, AGoodbyeEndsWhatWaitsAndLosesNothing) {
    if (pair.alone()) GTEST_SKIP() << "nobody leaves himself";
    const auto small = numbered(pair.small(), 1);
    const auto large = numbered(pair.large(), 1);
    std::vector<std::byte> target(pair.small());
    std::vector<std::byte> never(pair.large());
    const auto sent = send(pair.left(), some_key, small);
    const auto offered = send(pair.left(), {.stream = 3, .sequence = 1, .tag = 0}, large);
    const auto waiting = receive(pair.right(), {.stream = 2, .sequence = 1, .tag = 0}, never);
    ASSERT_TRUE(pair.until_done(sent));
    {
        const Engine::Turn turn(pair.left().engine);
        pair.left().link->fail_stream(3, std::make_exception_ptr(Error(ErrorCode::aborted, "")));
    }
    pair.pump(20);  // hardly anything fits through some wires
    {
        const Engine::Turn turn(pair.left().engine);
        pair.left().link->leave(Clock::now() + 10s);
    }
    ASSERT_TRUE(eventually([&] {
        pair.right().pump();
        return waiting->done();
    }));
    ASSERT_TRUE(waiting->error());
    EXPECT_EQ(waiting->error()->code(), ErrorCode::peer_lost);
    EXPECT_THAT(waiting->error()->what(), HasSubstr("rank 0 has left the world"));
    EXPECT_THAT(waiting->error()->ranks(), ElementsAre(0));
    ASSERT_EQ(pair.right().listener.left.size(), 1U);
    EXPECT_EQ(pair.right().listener.left.front().stream, 2U);

    const auto received = receive(pair.right(), some_key, target);
    EXPECT_TRUE(received->good());  // it came before the goodbye
    EXPECT_EQ(target, small);
    const auto too_late = receive(pair.right(), {.stream = 3, .sequence = 1, .tag = 0}, never);
    EXPECT_TRUE(too_late->error());  // an offer that nobody keeps any more
    EXPECT_TRUE(send(pair.right(), some_key, small)->error());
    pair.left().close();
    for (int i = 0; i < 100; ++i) pair.right().pump();
    EXPECT_TRUE(pair.right().listener.lost.empty());
    EXPECT_TRUE(receive(pair.right(), some_key, target)->error());
}

TEST_P(LinkConformance, ABrokenWireEndsEverything) {
    if (pair.alone()) GTEST_SKIP() << "one does not lose oneself";
    const auto small = numbered(pair.small(), 1);
    const auto large = numbered(pair.large(), 1);
    std::vector<std::byte> target(pair.small());
    std::vector<std::byte> never(pair.large());
    auto sent = send(pair.left(), some_key, small);
    ASSERT_TRUE(pair.until_done(sent));
    auto offer = send(pair.left(), {.stream = 3, .sequence = 1, .tag = 0}, large);
    const auto offered = send(pair.right(), {.stream = 2, .sequence = 1, .tag = 0}, large);
    const auto waiting = receive(pair.right(), {.stream = 2, .sequence = 1, .tag = 0}, never);
    pair.pump(20);
    sent.reset();
    offer.reset();
    pair.left().close();
    ASSERT_TRUE(eventually([&] {
        pair.right().pump();
        return waiting->done() && offered->done();
    }));
    for (const auto* one : {&waiting, &offered}) {
        ASSERT_TRUE((*one)->error());
        EXPECT_EQ((*one)->error()->code(), ErrorCode::peer_lost);
        EXPECT_THAT((*one)->error()->what(), HasSubstr("rank 0 is gone"));
    }
    EXPECT_EQ(pair.right().listener.lost.size(), 1U);
    EXPECT_TRUE(receive(pair.right(), some_key, target)->good());
    EXPECT_EQ(target, small);
    const Key offered_key{.stream = 3, .sequence = 1, .tag = 0};
    EXPECT_TRUE(receive(pair.right(), offered_key, never)->error());
    EXPECT_TRUE(send(pair.right(), some_key, small)->error());
    const Engine::Turn turn(pair.right().engine);
    pair.right().link->send_abort(1, Error(ErrorCode::aborted, "to nobody"));
    pair.right().link->leave(Clock::now() + 10s);
}

TEST_P(LinkConformance, AMessageThatDoesNotFitIsAMismatch) {
    struct Case {
        std::uint64_t fingerprint;
        std::size_t more;
    };
    std::uint32_t sequence = 0;
    for (const std::size_t bytes : {pair.small(), pair.large()}) {
        for (const Case& wrong : {Case{usual + 1, 0}, Case{usual, 8}}) {
            for (const bool send_first : {false, true}) {
                const Key key{.stream = 1, .sequence = ++sequence, .tag = -1};
                const auto data = numbered(bytes + wrong.more, 1);
                std::vector<std::byte> target(bytes, std::byte{9});
                MessagePtr sent;
                if (send_first) {
                    sent = send(pair.left(), key, data, wrong.fingerprint);
                    pair.pump(20);
                }
                const auto received = receive(pair.right(), key, target);
                if (!send_first) sent = send(pair.left(), key, data, wrong.fingerprint);
                ASSERT_TRUE(pair.until_done(received));
                ASSERT_TRUE(received->error());
                EXPECT_EQ(received->error()->code(), ErrorCode::mismatch);
                EXPECT_EQ(received->error()->what(),
                          fmt::format("theirs: {}, {} bytes", wrong.fingerprint, data.size()));
                EXPECT_EQ(target, std::vector<std::byte>(bytes, std::byte{9}));
                sent.reset();
                expect_usable();
            }
        }
    }
}

TRIREME_INSTANTIATE_LINK_SUITE();

}  // namespace
}  // namespace trireme::test
