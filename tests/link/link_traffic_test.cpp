// Much at once: sends that nobody awaits, thousands of transfers, random traffic.

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "link_pair.h"

namespace trireme::test {
namespace {

TEST_P(LinkConformance, UnawaitedSendsStayBoundedAndAllArrive) {
    constexpr std::uint32_t count = 3000;
    const std::size_t bytes = pair.left().eager_limit / 4;
    const auto data = numbered(bytes, 3);
    std::vector<MessagePtr> sent;
    for (std::uint32_t i = 0; i < count; ++i) {
        sent.push_back(send(pair.left(), {.stream = 1, .sequence = i, .tag = 0}, data));
        if (i % 8 == 0) pair.pump();
    }
    pair.pump(100);
    const auto ended = [&] {
        return std::count_if(sent.begin(), sent.end(), [](auto& one) { return one->done(); });
    };
    // The receiver keeps sixteen of the longest eager messages, and no more.
    EXPECT_LE(ended(), static_cast<std::ptrdiff_t>(
                           16 * (pair.left().eager_limit + sizeof(Envelope)) / bytes));
    // With all credit spent even nothing must wait.
    const Key empty{.stream = 2, .sequence = 0, .tag = 0};
    const auto nothing = send(pair.left(), empty, {});
    ASSERT_TRUE(pair.until_done(receive(pair.right(), empty, {})));
    for (std::uint32_t i = 0; i < count; ++i) {
        std::vector<std::byte> target(bytes);
        const auto received = receive(pair.right(), {.stream = 1, .sequence = i, .tag = 0}, target);
        ASSERT_TRUE(pair.until_done(received)) << i;
        ASSERT_EQ(target, data) << i;
    }
    EXPECT_TRUE(pair.until([&] { return ended() == count && nothing->good(); }));
}

TEST_P(LinkConformance, TwoThousandTransfersAtOnceInBothDirections) {
    constexpr std::uint32_t count = 500;  // sends and receives, to and fro
    const std::size_t bytes = std::min<std::size_t>(pair.left().eager_limit * 2, 20'000);
    std::vector<std::vector<std::byte>> data;
    std::vector<std::vector<std::byte>> targets(2 * count);
    std::vector<MessagePtr> messages;
    for (std::uint32_t i = 0; i < count; ++i) {
        data.push_back(numbered(i % 7 == 0 ? bytes : pair.small(), i));
        for (const bool forth : {true, false}) {
            const Key key{.stream = 1, .sequence = i, .tag = forth ? 0 : 1};
            messages.push_back(send(forth ? pair.left() : pair.right(), key, data.back()));
        }
    }
    for (std::uint32_t i = count; i-- > 0;) {
        for (const bool forth : {true, false}) {
            const Key key{.stream = 1, .sequence = i, .tag = forth ? 0 : 1};
            auto& target = targets[2 * i + (forth ? 0 : 1)];
            target.resize(data[i].size());
            messages.push_back(receive(forth ? pair.right() : pair.left(), key, target));
        }
    }
    ASSERT_TRUE(pair.until([&] {
        return std::all_of(messages.begin(), messages.end(), [](auto& one) { return one->done(); });
    }));
    for (std::size_t i = 0; i < targets.size(); ++i) ASSERT_EQ(targets[i], data[i / 2]) << i;
}

TEST_P(LinkConformance, CountsWhatPasses) {
    std::uint64_t total = 0;
    std::uint32_t sequence = 0;
    for (const bool first : {true, false}) {  // whether the receive comes first
        for (const std::size_t bytes : {std::size_t{0}, pair.small(), pair.large()}) {
            const Key key{.stream = 1, .sequence = ++sequence, .tag = 0};
            const auto data = numbered(bytes, 1);
            std::vector<std::byte> target(bytes);
            MessagePtr received;
            if (first) received = receive(pair.right(), key, target);
            const auto sent = send(pair.left(), key, data);
            pair.pump(3);
            if (!first) received = receive(pair.right(), key, target);
            ASSERT_TRUE(pair.until([&] { return sent->done() && received->done(); }));
            total += bytes;
        }
    }
    EXPECT_EQ(pair.left().link->traffic().sent, total);
    EXPECT_EQ(pair.right().link->traffic().received, total);
    if (pair.alone()) return;
    EXPECT_EQ(pair.left().link->traffic().received, 0U);
    EXPECT_EQ(pair.right().link->traffic().sent, 0U);
}

TEST_P(LinkConformance, RandomTraffic) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 dice(seed);
    const auto below = [&](std::size_t limit) { return dice() % limit; };

    // A message is known by its number: both sides start theirs in random order and at random
    // times.
    struct Exchange {
        std::vector<std::byte> data;
        std::vector<std::byte> target;
        bool forth = true;
        Key key;
        MessagePtr sent{};
        MessagePtr received{};
    };
    const std::size_t most = std::min<std::size_t>(pair.large(), 300'000);
    std::map<std::uint32_t, Exchange> under_way;
    std::uint32_t next = 0;
    std::size_t finished = 0;
    const auto until = Clock::now() + 200s;
    while (finished < 400) {
        ASSERT_LT(Clock::now(), until) << finished;
        if (under_way.size() < 60) {
            const std::size_t bytes =
                std::array{below(200), below(pair.left().eager_limit * 2), below(most)}[below(3)];
            Exchange& one = under_way[next];
            one = {.data = numbered(bytes, next),
                   .target = std::vector<std::byte>(bytes),
                   .forth = below(2) == 0,
                   .key = {.stream = static_cast<std::uint32_t>(below(4)),
                           .sequence = next,
                           .tag = static_cast<int>(below(3)) - 1}};
            ++next;
        }
        for (auto entry = under_way.begin(); entry != under_way.end();) {
            Exchange& one = entry->second;
            LinkEnd& from = one.forth ? pair.left() : pair.right();
            LinkEnd& to = one.forth ? pair.right() : pair.left();
            if (!one.sent && below(20) == 0) one.sent = send(from, one.key, one.data);
            if (!one.received && below(20) == 0) one.received = receive(to, one.key, one.target);
            if (one.sent && one.sent->done() && one.received && one.received->done()) {
                ASSERT_TRUE(one.sent->good() && one.received->good());
                ASSERT_EQ(one.target, one.data) << entry->first;
                entry = under_way.erase(entry);
                ++finished;
            } else {
                ++entry;
            }
        }
        if (below(2) == 0) pair.left().pump();
        if (below(2) == 0) pair.right().pump();
    }
    under_way.clear();
    expect_usable();
}

TRIREME_INSTANTIATE_LINK_SUITE();

}  // namespace
}  // namespace trireme::test
