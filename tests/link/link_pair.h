#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "connected_ranks.h"
#include "core/engine.h"
#include "core/task.h"
#include "link/link.h"
#include "pipe_wire.h"

namespace trireme::test {

/// Notes what a link reports, and fails streams as a world does.
struct RecordingListener final : LinkListener {
    struct Failure {
        std::uint32_t stream;
        Error error;
    };

    void stream_failed(int /*peer*/, std::uint32_t stream, const Error& error) override {
        failed.push_back({stream, error});
        if (link != nullptr) link->fail_stream(stream, std::make_exception_ptr(error));
    }
    void peer_left(int /*peer*/, std::uint32_t stream, const Error& error) override {
        left.push_back({stream, error});
    }
    void link_lost(int /*peer*/, const Error& error) override { lost.push_back(error); }
    void came_unexpected(int /*peer*/, const Envelope& envelope) override {
        unexpected.push_back(envelope);
    }
    [[nodiscard]] bool retired(std::uint32_t stream) const noexcept override {
        return retired_streams.contains(stream);
    }

    Link* link = nullptr;
    std::vector<Failure> failed;
    std::vector<Failure> left;
    std::vector<Error> lost;
    std::vector<Envelope> unexpected;
    std::set<std::uint32_t> retired_streams;
};

/// One end of a link, driven by hand.
struct LinkEnd {
    LinkEnd(int peer, std::unique_ptr<Wire> wire, std::unique_ptr<PeerMemory> memory)
        : eager_limit(wire->eager_limit()) {
        const Engine::Turn turn(engine);
        link = std::make_unique<Link>(engine, listener, peer, std::move(wire), std::move(memory));
        listener.link = link.get();
    }
    LinkEnd(const LinkEnd&) = delete;
    LinkEnd& operator=(const LinkEnd&) = delete;
    ~LinkEnd() { close(); }

    bool pump() {
        const Engine::Turn turn(engine);
        bool moved = link && link->descriptor_ready();
        return engine.ready().run() || moved;
    }
    /// Ends it without a goodbye.
    void close() {
        const Engine::Turn turn(engine);
        listener.link = nullptr;
        link.reset();
    }

    Engine engine;
    RecordingListener listener;
    std::size_t eager_limit;
    std::unique_ptr<Link> link;
};

struct TestOwner final : MessageOwner {
    [[nodiscard]] Error mismatch(int peer, const Envelope& theirs,
                                 std::size_t /*expected*/) const override {
        return {ErrorCode::mismatch,
                fmt::format("theirs: {}, {} bytes", theirs.fingerprint, theirs.length),
                {peer}};
    }
};
inline constexpr TestOwner test_owner;

inline Task follow(Transfer& transfer) { co_await transfer; }

/// A transfer and the task that awaits it. Destroying one that has not ended takes it back.
class Message final : public Completion {
public:
    template <class... Args>
    explicit Message(LinkEnd& end, const Key& key, std::uint64_t fingerprint, const Args&... args)
        : engine_(end.engine) {
        const Engine::Turn turn(engine_);
        const MessageHead head{.key = key, .fingerprint = fingerprint, .owner = &test_owner};
        transfer_.emplace(*end.link, head, args...);
        task_ = follow(*transfer_);
        task_.start(engine_.ready(), *this);
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    ~Message() {
        const Engine::Turn turn(engine_);
        engine_.ready().run();
        task_ = Task();
        transfer_.reset();
    }

    void complete(std::exception_ptr error) noexcept override {
        done_ = true;
        error_ = std::move(error);
    }
    [[nodiscard]] bool done() const noexcept { return done_; }
    /// Has ended without an error.
    [[nodiscard]] bool good() const noexcept { return done_ && !error_; }
    [[nodiscard]] std::optional<Error> error() const {
        if (!error_) return std::nullopt;
        try {
            std::rethrow_exception(error_);
        } catch (const Error& error) {
            return error;
        }
    }

private:
    Engine& engine_;
    std::optional<Transfer> transfer_;
    Task task_;
    bool done_ = false;
    std::exception_ptr error_;
};
using MessagePtr = std::unique_ptr<Message>;

inline constexpr std::uint64_t usual = 77;  // the fingerprint of messages that fit

inline MessagePtr send(LinkEnd& end, const Key& key, ConstBytes payload,
                       std::uint64_t fingerprint = usual) {
    return std::make_unique<Message>(end, key, fingerprint, payload);
}
inline MessagePtr receive(LinkEnd& end, const Key& key, Bytes target,
                          const Reduction& reduction = {}, std::uint64_t fingerprint = usual) {
    return std::make_unique<Message>(end, key, fingerprint, target, reduction);
}

inline std::vector<std::byte> numbered(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<std::byte>((i + seed * 7919) * 2654435761U >> 11);
    return out;
}

/// The two ends of a link over each transport; of the link to oneself, twice the same end.
/// Everything runs on the test's thread, so that a test decides which end looks when.
class LinkPair {
public:
    explicit LinkPair(const std::string& transport) {
        if (transport == "pipe") {
            auto [a, b] = PipeWire::pair();
            left_ = std::make_unique<LinkEnd>(1, std::move(a), nullptr);
            right_ = std::make_unique<LinkEnd>(0, std::move(b), nullptr);
            return;
        }
        const bool alone = transport == "self";
        const auto chosen = transport == "tcp" ? Transport::tcp : Transport::shm;
        ranks_ = connect_threads(alone ? std::vector{Transport::automatic}
                                       : std::vector{chosen, chosen});
        for (const auto& rank : ranks_)
            if (rank->error) std::rethrow_exception(rank->error);
        const bool staged = transport == "shm_staged";
        left_ = make_end(0, alone ? 0 : 1, staged);
        if (!alone) right_ = make_end(1, 0, staged);
    }

    [[nodiscard]] LinkEnd& left() noexcept { return *left_; }
    [[nodiscard]] LinkEnd& right() noexcept { return right_ ? *right_ : *left_; }
    [[nodiscard]] bool alone() const noexcept { return !right_; }

    void pump() {
        const bool moved = left().pump();
        if (!right().pump() && !moved) std::this_thread::yield();
    }
    void pump(int rounds) {
        for (int i = 0; i < rounds; ++i) pump();
    }
    [[nodiscard]] bool until(const std::function<bool()>& condition) {
        return eventually([&] {
            pump();
            return condition();
        });
    }
    [[nodiscard]] bool until_done(const MessagePtr& message) {
        return until([&] { return message->done(); });
    }

    /// A message that always fits through at once.
    [[nodiscard]] std::size_t small() noexcept { return 40; }
    /// One that is offered, and travels in several pieces.
    [[nodiscard]] std::size_t large() noexcept {
        return left().eager_limit < 1000 ? 4000 : 1'200'000;
    }

private:
    [[nodiscard]] std::unique_ptr<LinkEnd> make_end(std::size_t rank, int peer, bool staged) {
        Connection& connection = ranks_[rank]->connections.peers[static_cast<std::size_t>(peer)];
        return std::make_unique<LinkEnd>(peer, std::move(connection.wire),
                                         staged ? nullptr : std::move(connection.memory));
    }

    std::vector<std::unique_ptr<ConnectedRank>> ranks_;
    std::unique_ptr<LinkEnd> left_;
    std::unique_ptr<LinkEnd> right_;
};

/// The link conformance suite: what a link promises over every transport. Its parts stand in
/// link_*_test.cpp; a new transport joins in `LinkPair` and here.
class LinkConformance : public testing::TestWithParam<std::string> {
protected:
    // Both sizes of message in both directions, on a stream of its own.
    void expect_usable(std::uint32_t stream = 4'000) {
        const std::size_t offered = pair.left().eager_limit * 2;
        for (const std::size_t bytes : {std::size_t{0}, pair.small(), offered}) {
            const auto data = numbered(bytes, bytes);
            std::vector<std::byte> there(bytes);
            std::vector<std::byte> back(bytes);
            const Key forth{.stream = stream, .sequence = 1, .tag = 1};
            const Key home{.stream = stream, .sequence = 1, .tag = 2};
            const auto first = receive(pair.right(), forth, there);
            const auto sent = send(pair.left(), forth, data);
            const auto answer = send(pair.right(), home, data);
            const auto last = receive(pair.left(), home, back);
            ASSERT_TRUE(pair.until([&] {
                return first->done() && sent->done() && answer->done() && last->done();
            })) << bytes;
            ASSERT_TRUE(first->good() && sent->good() && answer->good() && last->good());
            ASSERT_EQ(there, data);
            ASSERT_EQ(back, data);
        }
    }

    LinkPair pair{GetParam()};
};

#define TRIREME_INSTANTIATE_LINK_SUITE()                                                  \
    INSTANTIATE_TEST_SUITE_P(Each, LinkConformance,                                       \
                             testing::Values("self", "pipe", "shm", "shm_staged", "tcp"), \
                             [](const auto& suite_info) { return suite_info.param; })

}  // namespace trireme::test
