#include "core/tensor_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/host_memory.h"

namespace trireme {

namespace {

std::optional<std::string> problem_of_size(std::span<const std::int64_t> sizes,
                                           std::size_t element) {
    const auto negative = std::ranges::find_if(sizes, [](std::int64_t size) { return size < 0; });
    if (negative != sizes.end()) return fmt::format("has the size {}", *negative);
    // Strides go up to the product of all sizes but those that are 0.
    std::uint64_t bytes = element;
    for (const std::int64_t size : sizes) {
        const auto factor = static_cast<std::uint64_t>(std::max(size, std::int64_t{1}));
        if (factor > std::numeric_limits<std::uint64_t>::max() / bytes)
            return "is larger than any address space";
        bytes *= factor;
    }
    const bool empty = std::ranges::find(sizes, 0) != sizes.end();
    if (!empty && bytes > host_memory())
        return fmt::format("needs {} bytes, but this host has only {}", bytes, host_memory());
    return std::nullopt;
}

}  // namespace

std::optional<std::string> TensorHeader::problem() const {
    if (magic != own_magic)
        return fmt::format("does not come from send_tensor: it begins with {:#010x}, not {:#010x}",
                           magic, own_magic);
    if (version != own_version)
        return fmt::format("has a header of version {}, this build reads version {}", version,
                           own_version);
    if (size_of(element()) == 0) return fmt::format("has the unknown dtype {}", dtype);
    if (dimensions > max_dimensions)
        return fmt::format("has {} dimensions, more than {}", dimensions, max_dimensions);
    return problem_of_size(shape(), size_of(element()));
}

}  // namespace trireme
