#include "trireme/operand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

#include "trireme/error.h"

namespace trireme::detail {

namespace {

// A negative one is huge by now.
std::vector<std::int64_t> as_written(std::span<const std::size_t> counts) {
    return {counts.begin(), counts.end()};
}

}  // namespace

Operand cut(Operand whole, std::span<const std::size_t> counts) {
    if (whole.is_list)
        throw Error(ErrorCode::invalid_argument, "split: a list has its parts already");
    const std::size_t count = whole.buffer.count;
    std::size_t used = 0;
    bool fits = true;
    for (const std::size_t part : counts) {
        fits = fits && part <= count - used;
        if (fits) used += part;
    }
    if (!fits || used != count)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split: counts [{}] must make up {} elements exactly",
                                fmt::join(as_written(counts), ", "), count));
    whole.is_list = true;
    whole.blocks.reserve(counts.size());
    std::size_t offset = 0;
    for (const std::size_t part : counts) {
        whole.blocks.push_back(whole.buffer.slice(offset, part));
        offset += part;
    }
    return whole;
}

}  // namespace trireme::detail
