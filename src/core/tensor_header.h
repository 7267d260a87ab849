#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trireme/dtype.h"

namespace trireme {

/// What travels before the elements of a tensor that is sent with its shape.
struct TensorHeader {
    static constexpr std::size_t max_dimensions = 8;
    static constexpr std::uint32_t own_magic = 0x736e6574;  // "tens"
    static constexpr std::uint16_t own_version = 1;

    std::uint32_t magic = own_magic;
    std::uint16_t version = own_version;
    std::uint8_t dtype = 0;
    std::uint8_t dimensions = 0;
    std::array<std::int64_t, max_dimensions> sizes{};

    /// Why it cannot be believed, after "the message ..."; nothing where it can, and the functions
    /// below say what follows. To be asked before anything is allocated.
    [[nodiscard]] std::optional<std::string> problem() const;

    [[nodiscard]] Dtype element() const noexcept { return static_cast<Dtype>(dtype); }
    [[nodiscard]] std::span<const std::int64_t> shape() const noexcept {
        return std::span(sizes).first(dimensions);
    }
};
static_assert(sizeof(TensorHeader) == 72, "the header has no padding");

}  // namespace trireme
