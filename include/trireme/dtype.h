#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace trireme {

/// The element types, one row each: name and size in bytes.
///
/// float16 and bfloat16 have no C++20 type; they reach Trireme as tensors.
#define TRIREME_DTYPES(ROW) \
    ROW(float64, 8)         \
    ROW(float32, 4)         \
    ROW(float16, 2)         \
    ROW(bfloat16, 2)        \
    ROW(int64, 8)           \
    ROW(int32, 4)           \
    ROW(int16, 2)           \
    ROW(int8, 1)            \
    ROW(uint8, 1)           \
    ROW(boolean, 1)

enum class Dtype : std::uint8_t {
#define TRIREME_ROW(name, bytes) name,
    TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
};

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(Dtype dtype) noexcept {
    switch (dtype) {
#define TRIREME_ROW(name, bytes) \
    case Dtype::name: return bytes;
        TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    }
    return 0;
}

[[nodiscard]] constexpr std::string_view name(Dtype dtype) noexcept {
    switch (dtype) {
#define TRIREME_ROW(name, bytes) \
    case Dtype::name: return #name;
        TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    }
    return "unknown dtype";
}

namespace detail {

template <class T>
consteval int dtype_index() {
    if constexpr (std::same_as<T, bool>) return static_cast<int>(Dtype::boolean);
    if constexpr (std::same_as<T, double>) return static_cast<int>(Dtype::float64);
    if constexpr (std::same_as<T, float>) return static_cast<int>(Dtype::float32);
    if constexpr (std::same_as<T, std::byte>) return static_cast<int>(Dtype::uint8);
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
        if constexpr (std::is_unsigned_v<T>) {
            if constexpr (sizeof(T) == 1) return static_cast<int>(Dtype::uint8);
        } else {
            if constexpr (sizeof(T) == 8) return static_cast<int>(Dtype::int64);
            if constexpr (sizeof(T) == 4) return static_cast<int>(Dtype::int32);
            if constexpr (sizeof(T) == 2) return static_cast<int>(Dtype::int16);
            if constexpr (sizeof(T) == 1) return static_cast<int>(Dtype::int8);
        }
    }
    return -1;
}

}  // namespace detail

/// A C++ type whose values Trireme can move: float, double, bool, the signed integers, bytes.
template <class T>
concept Element = detail::dtype_index<std::remove_cv_t<T>>() >= 0;

/// The dtype of a C++ type.
template <Element T>
inline constexpr Dtype dtype_of = static_cast<Dtype>(detail::dtype_index<std::remove_cv_t<T>>());

}  // namespace trireme
