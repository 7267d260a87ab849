#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace trireme {

using ConstBytes = std::span<const std::byte>;
using Bytes = std::span<std::byte>;

/// Moves bytes to one peer and back, in order, without ever blocking: all that a transport must
/// supply. `Link` builds messages on top; the link conformance suite tests both together.
///
/// Not thread-safe: the engine's mutex guards it. No call throws; a wire that breaks says so
/// through `closed()`, after everything that arrived before has been read.
class Wire {
public:
    Wire() = default;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    virtual ~Wire() = default;

    /// "shm", "tcp", "self".
    [[nodiscard]] virtual std::string_view transport() const noexcept = 0;

    /// Messages up to this many bytes travel with their envelope.
    [[nodiscard]] virtual std::size_t eager_limit() const noexcept = 0;

    /// Takes a prefix of `head` followed by `body` and returns its length; 0 where there is no
    /// room. `head` is at most 128 bytes and is never split.
    [[nodiscard]] virtual std::size_t write(ConstBytes head, ConstBytes body) noexcept = 0;

    /// Received bytes that lie in one piece. At least `want` (128 at most) as soon as that many
    /// have arrived, if a frame's head starts here or the payload's elements are `want` bytes wide;
    /// fewer, perhaps none, where they have not. The view holds until the next call.
    [[nodiscard]] virtual ConstBytes peek(std::size_t want) noexcept = 0;

    /// Drops the first `bytes` of what `peek` showed.
    virtual void consume(std::size_t bytes) noexcept = 0;

    /// Moves received bytes into `target`; returns how many.
    [[nodiscard]] virtual std::size_t read(Bytes target) noexcept {
        std::size_t total = 0;
        while (total < target.size()) {
            const ConstBytes piece = peek(1);
            if (piece.empty()) break;
            const std::size_t bytes = std::min(piece.size(), target.size() - total);
            std::memcpy(target.data() + total, piece.data(), bytes);
            consume(bytes);
            total += bytes;
        }
        return total;
    }

    /// Whether the peer can send nothing more: it closed the wire, or died.
    [[nodiscard]] virtual bool closed() const noexcept = 0;

    /// Why, if the transport knows more than that it closed.
    [[nodiscard]] virtual std::string close_reason() const { return {}; }

    /// How long the other host has left unacknowledged what was sent; 0 where nothing is open.
    [[nodiscard]] virtual std::chrono::milliseconds unacknowledged() const noexcept {
        return std::chrono::milliseconds(0);
    }

    /// The descriptor that becomes readable when there is something to do, -1 for none.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

    /// The descriptor is ready: take note of a peer that is gone, write what waits inside the wire.
    virtual void descriptor_ready() noexcept {}

    /// Whether bytes that `write` has taken wait inside the wire until the descriptor is writable.
    [[nodiscard]] virtual bool wants_write() const noexcept { return false; }

    /// Whether looking costs only a memory access, so that every poll may do it; otherwise the
    /// wire is looked at when its descriptor says so or somebody waits for this very link.
    [[nodiscard]] virtual bool in_memory() const noexcept = 0;

    /// Whether payloads are only lengths, in memory that is not there: those that `peek` shows and
    /// the targets of `read` must not be touched.
    [[nodiscard]] virtual bool phantom() const noexcept { return false; }

    /// Wakes the peer if it sleeps, after something was put into memory that both share.
    virtual void wake() noexcept {}

    /// Says goodbye to the transport: no more writes.
    virtual void shut_down() noexcept {}
};

}  // namespace trireme
