#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/dtype.h"

namespace trireme {

/// Where a buffer's memory lives.
enum class Device : std::uint8_t { host, cuda };

/// A borrowed, contiguous run of elements: what every operation finally sees.
struct Buffer {
    std::byte* data = nullptr;
    std::size_t count = 0;  ///< elements, not bytes
    Dtype dtype = Dtype::uint8;
    Device device = Device::host;

    [[nodiscard]] std::size_t bytes() const noexcept { return count * size_of(dtype); }

    /// `length` elements from element `offset` on.
    [[nodiscard]] Buffer slice(std::size_t offset, std::size_t length) const noexcept {
        return {data + offset * size_of(dtype), length, dtype, device};
    }
};

}  // namespace trireme
