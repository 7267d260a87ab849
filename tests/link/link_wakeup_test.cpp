// A wire may keep the rest of a head until its descriptor is writable: the link must wait for that,
// whatever it sent last.

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "link_pair.h"

namespace trireme::test {
namespace {

/// Takes every head and holds it until it is told that its descriptor is ready.
class HesitantWire final : public Wire {
public:
    HesitantWire() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0); }
    ~HesitantWire() override {
        ::close(sockets_[0]);
        ::close(sockets_[1]);
    }
    [[nodiscard]] std::string_view transport() const noexcept override { return "hesitant"; }
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return 100; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override {
        if (held) return 0;
        held = !head.empty() && body.empty();
        return head.size() + body.size();
    }
    [[nodiscard]] ConstBytes peek(std::size_t /*want*/) noexcept override { return {}; }
    void consume(std::size_t /*bytes*/) noexcept override {}
    [[nodiscard]] bool closed() const noexcept override { return false; }
    [[nodiscard]] int descriptor() const noexcept override { return sockets_[0]; }
    void descriptor_ready() noexcept override { held = false; }
    [[nodiscard]] bool wants_write() const noexcept override { return held; }
    [[nodiscard]] bool in_memory() const noexcept override { return false; }

    bool held = false;

private:
    int sockets_[2] = {-1, -1};
};

bool readable(const Engine& engine) {
    pollfd entry{engine.descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
}

TEST(LinkWakeup, WaitsForAWireThatHoldsSomethingBack) {
    auto owned = std::make_unique<HesitantWire>();
    HesitantWire& wire = *owned;
    LinkEnd end(1, std::move(owned), nullptr);
    EXPECT_FALSE(readable(end.engine));
    const std::vector<std::byte> large(1000);
    std::vector<MessagePtr> sent;
    // An empty eager message, an offer, and several of them, one behind the other.
    for (const std::size_t bytes : {0U, 1000U}) {
        for (const int count : {1, 3}) {
            for (int i = 0; i < count; ++i)
                sent.push_back(send(end, {.stream = 1, .sequence = 1, .tag = 0},
                                    ConstBytes(large).first(bytes)));
            for (int i = 0; i < count; ++i) {
                EXPECT_TRUE(wire.held);
                EXPECT_TRUE(readable(end.engine));
                end.pump();
            }
            EXPECT_FALSE(wire.held);
            EXPECT_FALSE(readable(end.engine));  // and not for ever
        }
    }
}

}  // namespace
}  // namespace trireme::test
