#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "link/wire.h"

namespace trireme {

/// Bytes in one piece: appended at the end, taken from the front.
///
/// A straight buffer instead of a ring, so that what is in it can always be shown whole; the rest
/// is moved to the front when the space behind it is needed.
class ByteQueue {
public:
    explicit ByteQueue(std::size_t capacity)
        : data_(static_cast<std::byte*>(::operator new(capacity, alignment))),
          capacity_(capacity) {}
    ByteQueue(const ByteQueue&) = delete;
    ByteQueue& operator=(const ByteQueue&) = delete;
    ~ByteQueue() { ::operator delete(data_, alignment); }

    [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
    [[nodiscard]] std::size_t free() const noexcept { return capacity_ - size(); }
    [[nodiscard]] ConstBytes view() const noexcept { return {data_ + begin_, size()}; }

    /// The free space behind the content, all of it in one piece.
    [[nodiscard]] Bytes space() noexcept {
        if (begin_ > 0) {
            std::memmove(data_, data_ + begin_, size());
            end_ -= begin_;
            begin_ = 0;
        }
        return {data_ + end_, capacity_ - end_};
    }
    /// The first `bytes` of `space()` have been filled.
    void filled(std::size_t bytes) noexcept { end_ += bytes; }

    /// Appends; the caller has looked at `free()`.
    void append(ConstBytes bytes) noexcept {
        if (bytes.empty()) return;
        const Bytes target =
            capacity_ - end_ < bytes.size() ? space() : Bytes(data_ + end_, bytes.size());
        std::memcpy(target.data(), bytes.data(), bytes.size());
        filled(bytes.size());
    }

    void consume(std::size_t bytes) noexcept {
        begin_ += bytes;
        if (begin_ == end_) begin_ = end_ = 0;
    }

private:
    static constexpr std::align_val_t alignment{64};

    std::byte* data_;
    std::size_t capacity_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace trireme
