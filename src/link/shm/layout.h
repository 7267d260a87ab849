#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// What lies where in an inbox: the memory in which a rank receives from the ranks of its host.
///
/// One page of facts about the owner, then one region for each rank of the world: what that rank
/// writes to the owner. A peer maps the facts and its own region only. Pages that nobody touches
/// cost nothing, so ranks of other hosts may have their region too. Header and regions lie at
/// multiples of 64 KiB, which is a multiple of every page size that Linux has.
namespace trireme::shm {

/// Proves that somebody belongs to a world.
using Token = std::array<std::byte, 16>;

inline constexpr std::uint64_t inbox_magic = 0x786f'626e'6965'7254;  // "Trienbox"
inline constexpr std::uint32_t layout_version = 1;

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t ring_lines = 1024;
inline constexpr std::size_t lease_slots = 1024;

/// Words that different sides write stand this far apart: processors fetch lines in pairs.
inline constexpr std::size_t apart = 128;

struct Header {
    std::uint64_t magic = inbox_magic;
    std::uint32_t version = layout_version;
    std::uint32_t ranks = 0;
    Token token{};
    /// Not 0 while the owner sleeps: whoever has something for it rings its doorbell.
    alignas(apart) std::atomic<std::uint32_t> sleeping{0};
};

/// One publication of the owner's memory for the peer: see `PeerMemory`.
struct alignas(line_bytes) Lease {
    std::atomic<std::uint32_t> open{0};  ///< its generation; 0: closed. Written by the owner
    std::atomic<std::uint32_t> busy{0};  ///< the peer is writing into it. Written by the peer
};

struct Region {
    /// Lines of the ring that the owner has consumed since the start. Written by the owner.
    alignas(apart) std::atomic<std::uint64_t> consumed{0};
    /// The peer could not write all it had: tell it when there is room. Written by the peer.
    alignas(apart) std::atomic<std::uint32_t> starved{0};
    alignas(apart) std::array<Lease, lease_slots> leases;
    alignas(4096) std::byte ring[ring_lines * line_bytes];
};

inline constexpr std::size_t header_bytes = std::size_t{64} << 10;
inline constexpr std::size_t region_bytes = std::size_t{256} << 10;
static_assert(sizeof(Header) <= header_bytes && sizeof(Region) <= region_bytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t region_offset(std::size_t rank) noexcept {
    return header_bytes + rank * region_bytes;
}

}  // namespace trireme::shm
