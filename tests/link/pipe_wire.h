#pragma once

#include <memory>
#include <utility>

#include "link/byte_queue.h"
#include "link/wire.h"

namespace trireme::test {

/// A wire within one thread through which hardly anything fits: nearly every frame goes out, and
/// arrives, in parts.
class PipeWire final : public Wire {
    struct Pipe {
        ByteQueue queue{capacity};
        bool cut = false;
    };

public:
    static constexpr std::size_t capacity = 150;

    static std::pair<std::unique_ptr<Wire>, std::unique_ptr<Wire>> pair() {
        auto there = std::make_shared<Pipe>();
        auto back = std::make_shared<Pipe>();
        return {std::make_unique<PipeWire>(there, back), std::make_unique<PipeWire>(back, there)};
    }

    PipeWire(std::shared_ptr<Pipe> out, std::shared_ptr<Pipe> in)
        : out_(std::move(out)), in_(std::move(in)) {}
    ~PipeWire() override { out_->cut = true; }

    [[nodiscard]] std::string_view transport() const noexcept override { return "pipe"; }
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return 200; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override {
        if (out_->cut || out_->queue.free() < head.size()) return 0;
        out_->queue.append(head);
        const std::size_t rest = std::min(body.size(), out_->queue.free());
        out_->queue.append(body.first(rest));
        return head.size() + rest;
    }
    [[nodiscard]] ConstBytes peek(std::size_t /*want*/) noexcept override {
        return in_->queue.view();
    }
    void consume(std::size_t bytes) noexcept override { in_->queue.consume(bytes); }
    [[nodiscard]] bool closed() const noexcept override {
        return in_->cut && in_->queue.size() == 0;
    }
    [[nodiscard]] bool in_memory() const noexcept override { return true; }
    void shut_down() noexcept override { out_->cut = true; }

private:
    std::shared_ptr<Pipe> out_;
    std::shared_ptr<Pipe> in_;
};

}  // namespace trireme::test
