#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trireme::bench {

/// The element types that can be measured. A list of its own, not `trireme::Dtype`: programs that
/// know nothing of Trireme are measured by the same code.
enum class Element : std::uint8_t {
    float32,
    float64,
    bfloat16,
    float16,
    int8,
    uint8,
    int32,
    int64,
};

struct ElementInfo {
    std::string_view name;
    std::size_t size;
    bool is_floating;
};

inline constexpr std::array<ElementInfo, 8> element_table{{
    {"float32", 4, true},
    {"float64", 8, true},
    {"bfloat16", 2, true},
    {"float16", 2, true},
    {"int8", 1, false},
    {"uint8", 1, false},
    {"int32", 4, false},
    {"int64", 8, false},
}};

[[nodiscard]] constexpr const ElementInfo& info(Element element) noexcept {
    return element_table[static_cast<std::size_t>(element)];
}

[[nodiscard]] inline Element element_named(std::string_view name) {
    for (std::size_t row = 0; row < element_table.size(); ++row)
        if (element_table[row].name == name) return static_cast<Element>(row);
    throw std::invalid_argument("no element type is called " + std::string(name));
}

namespace detail {

// Sign, exponent and the highest 10 bits of the fraction. Whole numbers up to 2048 are exact.
inline std::uint16_t half_bits(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (bits == 0) return 0;
    const std::uint32_t exponent = ((bits >> 23U) & 0xffU) - 127 + 15;
    return static_cast<std::uint16_t>((bits >> 31U) << 15U | exponent << 10U |
                                      (bits >> 13U & 0x3ffU));
}

inline std::uint16_t bfloat_bits(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<std::uint16_t>(bits >> 16U);
}

template <class T>
void put(T value, std::byte* out) {
    std::memcpy(out, &value, sizeof value);
}

}  // namespace detail

/// Writes a small whole number as an element; one too large for an integer type wraps around, as a
/// sum of that type does.
inline void encode(Element element, std::int64_t value, std::byte* out) {
    const auto number = static_cast<float>(value);
    switch (element) {
        case Element::float32: return detail::put(number, out);
        case Element::float64: return detail::put(static_cast<double>(value), out);
        case Element::bfloat16: return detail::put(detail::bfloat_bits(number), out);
        case Element::float16: return detail::put(detail::half_bits(number), out);
        case Element::int8: return detail::put(static_cast<std::int8_t>(value), out);
        case Element::uint8: return detail::put(static_cast<std::uint8_t>(value), out);
        case Element::int32: return detail::put(static_cast<std::int32_t>(value), out);
        case Element::int64: return detail::put(value, out);
    }
}

}  // namespace trireme::bench
