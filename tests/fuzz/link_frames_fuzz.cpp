// Frames that arrive at a link which has receives and sends under way. An input is a list of: how
// many bytes come at a time (one byte), then these.

#include <algorithm>

#include "fuzz/target.h"
#include "link/link_pair.h"
#include "reduce/kernel.h"

namespace trireme::fuzz {
namespace {

/// Gives what it was fed; what is written to it is gone.
class FedWire final : public Wire {
public:
    void feed(std::string_view bytes) { fed_.append(bytes); }

    [[nodiscard]] std::string_view transport() const noexcept override { return "fed"; }
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return 200; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override {
        return head.size() + body.size();
    }
    [[nodiscard]] ConstBytes peek(std::size_t /*want*/) noexcept override {
        return std::as_bytes(std::span(fed_).subspan(taken_));
    }
    void consume(std::size_t bytes) noexcept override { taken_ += bytes; }
    [[nodiscard]] bool closed() const noexcept override { return false; }
    [[nodiscard]] bool in_memory() const noexcept override { return true; }
    void shut_down() noexcept override {}

private:
    std::string fed_;
    std::size_t taken_ = 0;
};

template <class T>
std::string bytes_of(const T& object) {
    return {reinterpret_cast<const char*>(&object), sizeof(object)};
}

std::string frame(FrameKind kind, const Key& key, std::uint64_t length, const std::string& rest) {
    const Envelope envelope{.kind = kind, .key = key, .fingerprint = test::usual, .length = length};
    const std::string bytes = bytes_of(envelope) + rest;
    return std::string(1, static_cast<char>(bytes.size())) + bytes;
}

}  // namespace

std::vector<std::string> seeds() {
    const Key key{.stream = 1, .sequence = 1, .tag = 0};
    const Key answer{.stream = 1, .sequence = 0, .tag = 0};
    const std::string eager = frame(FrameKind::eager, key, 64, std::string(64, 'e'));
    const std::string offer = frame(FrameKind::offer, key, 64, bytes_of(OfferBody{.transfer = 3}));
    std::string all = eager;
    for (std::uint32_t number = 0; number < 3; ++number) {
        const Key to{.stream = 1, .sequence = number, .tag = 0};
        all += frame(FrameKind::data, to, 32, std::string(32, 'd'));
        all += frame(FrameKind::accept, to, 0, bytes_of(AcceptBody{}));
        all += frame(FrameKind::taken, to, 0, "");
    }
    return {eager,
            offer,
            offer + all,
            all,
            frame(FrameKind::accept, answer, 0, bytes_of(AcceptBody{})),
            frame(FrameKind::credit, answer, 10, ""),
            frame(FrameKind::abort, {.stream = 1, .sequence = 2, .tag = 1}, 8, "\1\0\0\0text"),
            frame(FrameKind::goodbye, {}, 0, "")};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    auto made = std::make_unique<fuzz::FedWire>();
    fuzz::FedWire& wire = *made;
    test::LinkEnd end(0, std::move(made), nullptr);
    std::vector<std::byte> target(64);
    std::vector<double> numbers(8);
    const auto elements = std::as_writable_bytes(std::span(numbers));
    static const Combine add = Combine::of(Dtype::float64, sum);
    const std::vector<std::byte> large(1000);
    std::vector<test::MessagePtr> messages;
    for (std::uint32_t i = 0; i < 6; ++i) {
        const Key key{.stream = i % 2, .sequence = i / 2, .tag = 0};
        messages.push_back(test::receive(end, key, target));
        messages.push_back(
            test::receive(end, {.stream = i % 2, .sequence = i / 2, .tag = 1}, elements,
                          {.combine = &add, .element_bytes = 8, .local = elements.data()}));
        messages.push_back(test::send(end, key, large));
    }
    fuzz::Input in(data, size);
    while (!in.empty() && end.listener.lost.empty()) {
        wire.feed(in.take(std::max(1U, in.byte())));
        end.pump();
    }
    messages.clear();
    return 0;
}
