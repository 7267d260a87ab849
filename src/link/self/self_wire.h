#pragma once

#include "link/byte_queue.h"
#include "link/wire.h"

namespace trireme {

/// The wire of a rank to itself: what is written comes out again.
class SelfWire final : public Wire {
public:
    SelfWire() : queue_(capacity) {}

    [[nodiscard]] std::string_view transport() const noexcept override { return "self"; }
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return capacity / 4; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override;
    [[nodiscard]] ConstBytes peek(std::size_t want) noexcept override;
    void consume(std::size_t bytes) noexcept override { queue_.consume(bytes); }
    [[nodiscard]] bool closed() const noexcept override { return shut_ && queue_.size() == 0; }
    [[nodiscard]] bool in_memory() const noexcept override { return true; }
    void shut_down() noexcept override { shut_ = true; }

private:
    static constexpr std::size_t capacity = std::size_t{128} << 10;

    ByteQueue queue_;
    bool shut_ = false;
};

}  // namespace trireme
