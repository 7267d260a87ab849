#include "link/shm/ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace trireme::shm {

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

// A word is the record's kind, which is not 0, above its length in bytes.
constexpr std::uint64_t data_kind = 0x5452'0001;
constexpr std::uint64_t wrap_word = std::uint64_t{0x5452'0002} << 32;

constexpr std::uint64_t data_word(std::size_t bytes) noexcept { return data_kind << 32 | bytes; }

constexpr std::size_t lines_for(std::size_t bytes) noexcept {
    return (word_bytes + bytes + line_bytes - 1) / line_bytes;
}

std::byte* line(Region& region, std::uint64_t position) noexcept {
    return region.ring + position % ring_lines * line_bytes;
}

std::atomic_ref<std::uint64_t> word_of(Region& region, std::uint64_t position) noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(line(region, position)));
}

std::size_t lines_to_end(std::uint64_t position) noexcept {
    return ring_lines - position % ring_lines;
}

void copy(std::byte* target, ConstBytes source) noexcept {
    if (!source.empty()) std::memcpy(target, source.data(), source.size());
}

}  // namespace

std::size_t RingWriter::write(ConstBytes head, ConstBytes body) noexcept {
    std::size_t total = 0;
    while (!head.empty() || !body.empty()) {
        const std::size_t taken = write_record(head, body);
        if (taken == 0) break;
        total += taken;
        body = body.subspan(taken - head.size());
        head = {};
    }
    return total;
}

std::size_t RingWriter::write_record(ConstBytes head, ConstBytes body) noexcept {
    const std::size_t offered = head.size() + body.size();
    const std::size_t least = lines_for(head.size() + std::min(body.size(), cut_bytes));
    const std::size_t wanted = std::min(lines_for(offered), record_lines);
    const std::size_t skipped = lines_to_end(written_) < least ? lines_to_end(written_) : 0;

    std::size_t free = ring_lines - (written_ - consumed_);
    if (free < skipped + wanted + 1) {
        consumed_ = region_.consumed.load(std::memory_order_acquire);
        free = ring_lines - (written_ - consumed_);
    }
    if (free < skipped + least + 1 || free > ring_lines) return 0;
    if (skipped > 0) publish(skipped, wrap_word);

    const std::size_t lines = std::min({wanted, free - skipped - 1, lines_to_end(written_)});
    std::size_t bytes = std::min(lines * line_bytes - word_bytes, offered);
    if (bytes < offered) bytes -= (bytes - head.size()) % cut_bytes;

    std::byte* target = line(region_, written_) + word_bytes;
    copy(target, head);
    copy(target + head.size(), body.first(bytes - head.size()));
    const std::size_t used = lines_for(bytes);
    for (std::size_t i = 1; i < used; ++i) stale_.set(written_ % ring_lines + i);
    publish(used, data_word(bytes));
    return bytes;
}

void RingWriter::publish(std::size_t lines, std::uint64_t word) noexcept {
    const std::size_t next = (written_ + lines) % ring_lines;
    if (stale_.test(next)) {
        word_of(region_, next).store(0, std::memory_order_relaxed);
        stale_.reset(next);
    }
    word_of(region_, written_).store(word, std::memory_order_release);
    written_ += lines;
}

ConstBytes RingReader::peek() noexcept {
    while (left_ == 0) {
        if (broken_) return {};
        const std::uint64_t word = word_of(region_, consumed_).load(std::memory_order_acquire);
        if (word == 0) return {};
        if (word == wrap_word) {
            advance(lines_to_end(consumed_));
            continue;
        }
        const std::size_t bytes = word & 0xffff'ffff;
        if (word >> 32 != data_kind || bytes == 0 || lines_for(bytes) > lines_to_end(consumed_)) {
            broken_ = true;
            return {};
        }
        data_ = line(region_, consumed_) + word_bytes;
        left_ = bytes;
        lines_ = lines_for(bytes);
    }
    return {data_, left_};
}

bool RingReader::consume(std::size_t bytes) noexcept {
    data_ += bytes;
    left_ -= bytes;
    if (left_ == 0 && bytes > 0) advance(lines_);
    return std::exchange(made_room_, false);
}

void RingReader::advance(std::size_t lines) noexcept {
    word_of(region_, consumed_).store(0, std::memory_order_relaxed);
    consumed_ += lines;
    if (consumed_ - published_ < ring_lines / 4) return;
    region_.consumed.store(consumed_, std::memory_order_release);
    published_ = consumed_;
    made_room_ = true;
}

bool RingReader::empty() const noexcept {
    return left_ == 0 &&
           (broken_ || word_of(region_, consumed_).load(std::memory_order_acquire) == 0);
}

}  // namespace trireme::shm
