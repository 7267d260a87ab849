#pragma once

#include <array>
#include <string>

#include "core/unique_fd.h"
#include "link/byte_queue.h"
#include "link/wire.h"

namespace trireme {

/// The wire over a connected TCP socket.
///
/// Small reads come out of a buffer that one system call fills; large payloads go from the socket
/// straight to where they belong.
class TcpWire final : public Wire {
public:
    static constexpr std::chrono::milliseconds default_heartbeat{5'000};

    /// Makes the socket non-blocking and switches Nagle's algorithm off. A host that gives no sign
    /// of life for `heartbeat` while nothing is being sent closes the wire; a process that is
    /// stopped does not, for its kernel answers. Whole seconds, 3 at least.
    explicit TcpWire(UniqueFd socket, std::chrono::milliseconds heartbeat = default_heartbeat);

    [[nodiscard]] std::string_view transport() const noexcept override { return "tcp"; }
    /// Below this a message costs less in the receiver's memory than a second trip, 8 µs at best.
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return 32 << 10; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override;
    [[nodiscard]] ConstBytes peek(std::size_t want) noexcept override;
    void consume(std::size_t bytes) noexcept override { received_.consume(bytes); }
    [[nodiscard]] std::size_t read(Bytes target) noexcept override;
    [[nodiscard]] bool closed() const noexcept override { return ended_ && received_.size() == 0; }
    [[nodiscard]] std::string close_reason() const override { return reason_; }
    [[nodiscard]] std::chrono::milliseconds unacknowledged() const noexcept override;
    [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }
    [[nodiscard]] bool in_memory() const noexcept override { return false; }
    [[nodiscard]] bool wants_write() const noexcept override { return rest_bytes_ > 0; }
    void descriptor_ready() noexcept override;
    void shut_down() noexcept override;

private:
    [[nodiscard]] std::size_t send(ConstBytes head, ConstBytes body) noexcept;
    bool flush_rest() noexcept;
    void end_writing() noexcept;
    [[nodiscard]] std::size_t receive(Bytes target) noexcept;

    UniqueFd socket_;
    ByteQueue received_;
    std::array<std::byte, 128> rest_{};  // of a head that the socket took only a part of
    std::size_t rest_bytes_ = 0;
    bool unwritable_ = false;
    bool ended_ = false;  // nothing more will be received
    std::string reason_;
};

}  // namespace trireme
