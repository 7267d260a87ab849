#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "contest/element.h"

namespace trireme::bench {

/// Elements that repeat after a prime number, so that a part which lands in a wrong place does not
/// look right. Written and compared by the block: a benchmark rewrites all its inputs all the time.
class Pattern {
public:
    static constexpr std::size_t period = 251;

    Pattern(Element element, const std::function<std::int64_t(std::size_t)>& value)
        : size_(info(element).size), bytes_((repeats + 1) * period * size_) {
        for (std::size_t i = 0; i < (repeats + 1) * period; ++i)
            encode(element, value(i % period), bytes_.data() + i * size_);
    }

    /// Writes `count` elements, of which the first is that at `phase`.
    void fill(std::byte* out, std::size_t count, std::size_t phase) const {
        each_block(count, phase, [&](const std::byte* block, std::size_t at, std::size_t bytes) {
            std::memcpy(out + at, block, bytes);
        });
    }

    /// How many of `count` elements are not those that `fill` would write.
    [[nodiscard]] std::uint64_t wrong(const std::byte* data, std::size_t count,
                                      std::size_t phase) const {
        std::uint64_t found = 0;
        each_block(count, phase, [&](const std::byte* block, std::size_t at, std::size_t bytes) {
            if (std::memcmp(data + at, block, bytes) == 0) return;
            for (std::size_t i = 0; i < bytes; i += size_)
                found += std::memcmp(data + at + i, block + i, size_) != 0 ? 1 : 0;
        });
        return found;
    }

private:
    static constexpr std::size_t repeats = 16;  // a block stays in the first-level cache

    template <class Visit>
    void each_block(std::size_t count, std::size_t phase, Visit visit) const {
        const std::byte* start = bytes_.data() + phase % period * size_;
        const std::size_t block = repeats * period * size_;
        for (std::size_t at = 0; at < count * size_; at += block)
            visit(start, at, std::min(block, count * size_ - at));
    }

    std::size_t size_;
    std::vector<std::byte> bytes_;
};

}  // namespace trireme::bench
