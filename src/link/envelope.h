#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme {

/// What a frame is for.
enum class FrameKind : std::uint8_t {
    eager = 1,  ///< a message whose payload follows at once
    offer,    ///< a message whose payload waits for the receiver: where it lies, if it is readable
    accept,   ///< the receiver's answer to an offer: send the payload
    data,     ///< a piece of an accepted payload
    taken,    ///< the receiver has read an offered payload by itself
    credit,   ///< so many eager bytes have been consumed
    abort,    ///< a stream has failed; the payload is the reason: see `Link::send_abort`
    goodbye,  ///< the peer leaves the world: nothing follows
};

/// What finds the receive for a message: the group's stream, the number of the operation in it, and
/// the tag. Tags of 0 and more are the user's; below 0 are the steps of collectives.
struct Key {
    std::uint32_t stream = 0;
    std::uint32_t sequence = 0;
    std::int32_t tag = 0;

    [[nodiscard]] bool operator==(const Key&) const noexcept = default;
};

/// The head of every frame on every transport, in the byte order of the machine: all hosts of a
/// world have the same. 32 bytes, so that an envelope, a ring's record header and a small payload
/// share one cache line.
struct Envelope {
    FrameKind kind = FrameKind::eager;
    std::uint8_t reserved[3] = {};
    /// Of answers: the stream, and in `sequence` the transfer's number at the other side.
    Key key{};
    std::uint64_t fingerprint = 0;  ///< what the sender believes the operation to be
    std::uint64_t length = 0;       ///< payload bytes of the message, or of this piece
};
static_assert(sizeof(Envelope) == 32);

/// Names memory of a process for its peers: see `PeerMemory`.
struct RemoteBuffer {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t slot = 0;        ///< the publication that must be open
    std::uint32_t generation = 0;  ///< ... and have this generation; 0: not readable from outside
    std::uint32_t area = 0;        ///< the owner's area in which it lies, see `SharedArea`; 0: none
    std::uint32_t reserved = 0;
};

/// Follows the envelope of an `offer`.
struct OfferBody {
    std::uint32_t transfer = 0;  ///< the sender's number for the transfer
    std::uint32_t reserved = 0;
    RemoteBuffer source{};
};
static_assert(sizeof(OfferBody) == 40);

/// Follows the envelope of an `accept`.
struct AcceptBody {
    std::uint32_t transfer = 0;  ///< the receiver's number for the transfer
    std::uint32_t reserved = 0;
};
static_assert(sizeof(AcceptBody) == 8);

/// The longest payload of an `abort`.
inline constexpr std::size_t abort_bytes_limit = 16 * 1024;

/// Bytes between the envelope and the payload.
[[nodiscard]] constexpr std::size_t body_bytes(FrameKind kind) noexcept {
    if (kind == FrameKind::offer) return sizeof(OfferBody);
    if (kind == FrameKind::accept) return sizeof(AcceptBody);
    return 0;
}

}  // namespace trireme
