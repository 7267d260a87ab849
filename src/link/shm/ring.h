#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "link/shm/layout.h"
#include "link/wire.h"

/// A channel for bytes from one writer to one reader through a ring of cache lines.
///
/// **Records.** The writer puts bytes down as records: some lines in one piece. The first eight
/// bytes of a record are its word, kind and length, and the payload follows. The writer stores the
/// payload and then, with release, the word; the reader looks at the word where the next record
/// must begin, with acquire: as long as it is 0 there is nothing. So a short message is one cache
/// line, fetched by the reader that polls for it, and nothing else that both sides share is
/// touched.
///
/// **The word of the next record must be 0** when a record becomes visible. The reader clears the
/// word of each record that it has consumed, but not the lines behind it: there payload is left
/// over, which could look like a word. The writer knows those lines (`stale_`); where the line
/// behind its new record is one of them, it clears that line's word first. Hence that line must be
/// free as well. Traffic of one-line records leaves no stale lines, and never pays for this.
///
/// **Room.** Both sides count lines from the start. The reader publishes its count only after each
/// quarter of the ring; the writer keeps a copy and looks again only when it runs short.
///
/// **Progress.** A record needs `least` lines: those for the head and for 128 bytes of body, five
/// at most. Where fewer are left before the end of the ring, a wrap record of up to four lines
/// covers them. So the writer needs 4 + 5 + 1 free lines, and once the reader has consumed
/// everything, all but the last unpublished quarter are free to it.
namespace trireme::shm {

/// Where a body must be cut, it is cut at a multiple of this: the reader finds whole elements.
inline constexpr std::size_t cut_bytes = 128;

/// The longest record: short enough for the reader to copy one while the writer writes the next.
inline constexpr std::size_t record_lines = 64;

class RingWriter {
public:
    explicit RingWriter(Region& region) noexcept : region_(region) {}

    /// Takes a prefix of `head` (128 bytes at most, never split) and `body`; returns its length.
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept;

private:
    [[nodiscard]] std::size_t write_record(ConstBytes head, ConstBytes body) noexcept;
    void publish(std::size_t lines, std::uint64_t word) noexcept;

    Region& region_;
    std::uint64_t written_ = 0;   // lines
    std::uint64_t consumed_ = 0;  // lines, as last seen
    std::bitset<ring_lines> stale_;
};

class RingReader {
public:
    explicit RingReader(Region& region) noexcept : region_(region) {}

    /// What is left of the current record, or the next one; empty if there is none.
    [[nodiscard]] ConstBytes peek() noexcept;

    /// Drops the first `bytes` of what `peek` showed; returns whether that has made room known to
    /// the writer.
    bool consume(std::size_t bytes) noexcept;

    [[nodiscard]] bool empty() const noexcept;

    /// The ring held what no writer writes; nothing more is read from it.
    [[nodiscard]] bool broken() const noexcept { return broken_; }

private:
    void advance(std::size_t lines) noexcept;

    Region& region_;
    std::uint64_t consumed_ = 0;   // lines
    std::uint64_t published_ = 0;  // lines
    const std::byte* data_ = nullptr;
    std::size_t left_ = 0;    // bytes of the current record
    std::size_t lines_ = 0;   // lines of the current record
    bool made_room_ = false;  // published, and not yet reported by `consume`
    bool broken_ = false;
};

}  // namespace trireme::shm
