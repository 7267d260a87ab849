#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "link/envelope.h"
#include "link/wire.h"

namespace trireme {

namespace shm {
struct SharedArea;
}

/// A part of a peer's memory that this process maps, under the peer's lease: for as long as this
/// exists the peer does not take it back.
class HeldMemory {
public:
    HeldMemory() = default;
    HeldMemory(std::shared_ptr<std::byte> memory, std::atomic<std::uint32_t>& busy) noexcept
        : memory_(std::move(memory)), busy_(&busy) {}
    HeldMemory(HeldMemory&& other) noexcept
        : memory_(std::move(other.memory_)), busy_(std::exchange(other.busy_, nullptr)) {}
    HeldMemory& operator=(HeldMemory&&) = delete;
    ~HeldMemory() {
        if (busy_ != nullptr) busy_->store(0, std::memory_order_release);
    }

    /// Null: it is held by nobody.
    [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }

private:
    std::shared_ptr<std::byte> memory_;
    std::atomic<std::uint32_t>* busy_ = nullptr;
};

/// Direct access to a peer's memory, where the transport has it: the memory verbs.
///
/// **The lease.** A rank that lets its peer at a buffer publishes it: the peer gets a
/// `RemoteBuffer` with a slot and its generation. For each write of at most 1 MiB the peer sets
/// the slot's busy word, looks again whether the slot is still open with that generation, moves the
/// bytes and clears the busy word. The owner withdraws a publication by closing the slot and
/// waiting until nobody is busy in it: after that no late write reaches memory that it has taken
/// back. A dead peer's busy word is void; a stopped one's would block for ever, so a peer that does
/// not answer for long is killed and named. A read needs no lease, and holds up nobody: it looks
/// before and after whether the slot is open, and what it read in between is void if it is not.
///
/// Calls are guarded by the engine's mutex.
class PeerMemory {
public:
    /// The longest access under one lease.
    static constexpr std::size_t lease_bytes = 1 << 20;

    PeerMemory() = default;
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;
    virtual ~PeerMemory() = default;

    /// Whether long messages go this way, too, rather than through the wire.
    [[nodiscard]] virtual bool carries_messages() const noexcept { return true; }

    /// Opens a publication of this process's memory for the peer; empty where none is free.
    [[nodiscard]] virtual std::optional<RemoteBuffer> publish(Bytes memory) noexcept = 0;

    /// Closes a publication and waits until the peer is out of it.
    virtual void withdraw(const RemoteBuffer& own) noexcept = 0;

    /// Copies from `offset` of the peer's memory; false where the publication has been withdrawn
    /// or the peer is gone, and then `target` holds nothing of worth.
    [[nodiscard]] virtual bool read(const RemoteBuffer& source, std::size_t offset,
                                    Bytes target) noexcept = 0;

    /// Copies to `offset` of the peer's memory; false where the publication has been withdrawn or
    /// the peer is gone.
    [[nodiscard]] virtual bool write(const RemoteBuffer& target, std::size_t offset,
                                     ConstBytes source) noexcept = 0;

    // --- Memory that both map ------------------------------------------------------------------

    /// The peer maps `own`, memory of this process; this process maps `theirs`. What is published
    /// there is read and written in place from now on, as long as both are.
    virtual void share(const std::weak_ptr<const shm::SharedArea>& own,
                       const std::weak_ptr<const shm::SharedArea>& theirs) {
        static_cast<void>(own);
        static_cast<void>(theirs);
    }

    /// What lies at `offset` of the peer's memory, where this process maps it; else, or where the
    /// publication has been withdrawn, nothing. At most `lease_bytes`.
    [[nodiscard]] virtual HeldMemory hold(const RemoteBuffer& buffer, std::size_t offset,
                                          std::size_t bytes) noexcept {
        static_cast<void>(buffer);
        static_cast<void>(offset);
        static_cast<void>(bytes);
        return {};
    }
};

}  // namespace trireme
