#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace trireme {

/// What sort of values a dtype has; decides which reductions have a meaning.
enum class DtypeClass : std::uint8_t {
    floating,
    integer,
    boolean,
    complex,
    located,  ///< a value and where it comes from: `Located`
    moved,    ///< only moved, never computed with
};

/// The element types, one row each: name, size in bytes, class.
#define TRIREME_DTYPES(ROW)           \
    ROW(float64, 8, floating)         \
    ROW(float32, 4, floating)         \
    ROW(float16, 2, floating)         \
    ROW(bfloat16, 2, floating)        \
    ROW(float8_e4m3, 1, moved)        \
    ROW(float8_e5m2, 1, moved)        \
    ROW(int64, 8, integer)            \
    ROW(int32, 4, integer)            \
    ROW(int16, 2, integer)            \
    ROW(int8, 1, integer)             \
    ROW(uint64, 8, integer)           \
    ROW(uint32, 4, integer)           \
    ROW(uint16, 2, integer)           \
    ROW(uint8, 1, integer)            \
    ROW(boolean, 1, boolean)          \
    ROW(complex128, 16, complex)      \
    ROW(complex64, 8, complex)        \
    ROW(located_float64, 16, located) \
    ROW(located_float32, 8, located)  \
    ROW(located_int64, 16, located)   \
    ROW(located_int32, 8, located)

enum class Dtype : std::uint8_t {
#define TRIREME_ROW(name, bytes, kind) name,
    TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
};

inline constexpr std::size_t dtype_count = 0
#define TRIREME_ROW(name, bytes, kind) +1
    TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    ;

/// Bytes of one element; 0 for a number that is no dtype.
[[nodiscard]] constexpr std::size_t size_of(Dtype dtype) noexcept {
    switch (dtype) {
#define TRIREME_ROW(name, bytes, kind) \
    case Dtype::name: return bytes;
        TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    }
    return 0;
}

[[nodiscard]] constexpr DtypeClass class_of(Dtype dtype) noexcept {
    switch (dtype) {
#define TRIREME_ROW(name, bytes, kind) \
    case Dtype::name: return DtypeClass::kind;
        TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    }
    return DtypeClass::moved;
}

[[nodiscard]] constexpr std::string_view name(Dtype dtype) noexcept {
    switch (dtype) {
#define TRIREME_ROW(name, bytes, kind) \
    case Dtype::name: return #name;
        TRIREME_DTYPES(TRIREME_ROW)
#undef TRIREME_ROW
    }
    return "unknown dtype";
}

// Formats that C++20 has no type for, as their bits; tensors of these types need no conversion.

struct Float16 {
    std::uint16_t bits;
    [[nodiscard]] bool operator==(const Float16&) const noexcept = default;
};
struct Bfloat16 {
    std::uint16_t bits;
    [[nodiscard]] bool operator==(const Bfloat16&) const noexcept = default;
};
struct Float8E4m3 {
    std::uint8_t bits;
    [[nodiscard]] bool operator==(const Float8E4m3&) const noexcept = default;
};
struct Float8E5m2 {
    std::uint8_t bits;
    [[nodiscard]] bool operator==(const Float8E5m2&) const noexcept = default;
};

/// A value and an index that says where it comes from: `min` and `max` of these give the extreme
/// value with its index, of equal values the lowest index. T is double, float, int64 or int32.
/// Counterpart: MPI_MINLOC, MPI_MAXLOC on MPI_FLOAT_INT and its like.
template <class T>
struct Located {
    using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    T value;
    Index index;
    [[nodiscard]] bool operator==(const Located&) const noexcept = default;
};

namespace detail {

template <class T>
consteval int dtype_index() {
    const auto row = [](Dtype dtype) { return static_cast<int>(dtype); };
    if constexpr (std::same_as<T, bool>) return row(Dtype::boolean);
    if constexpr (std::same_as<T, double>) return row(Dtype::float64);
    if constexpr (std::same_as<T, float>) return row(Dtype::float32);
    if constexpr (std::same_as<T, Float16>) return row(Dtype::float16);
    if constexpr (std::same_as<T, Bfloat16>) return row(Dtype::bfloat16);
    if constexpr (std::same_as<T, Float8E4m3>) return row(Dtype::float8_e4m3);
    if constexpr (std::same_as<T, Float8E5m2>) return row(Dtype::float8_e5m2);
    if constexpr (std::same_as<T, std::byte>) return row(Dtype::uint8);
    if constexpr (std::same_as<T, std::complex<double>>) return row(Dtype::complex128);
    if constexpr (std::same_as<T, std::complex<float>>) return row(Dtype::complex64);
    if constexpr (std::same_as<T, Located<double>>) return row(Dtype::located_float64);
    if constexpr (std::same_as<T, Located<float>>) return row(Dtype::located_float32);
    if constexpr (std::same_as<T, Located<std::int64_t>>) return row(Dtype::located_int64);
    if constexpr (std::same_as<T, Located<std::int32_t>>) return row(Dtype::located_int32);
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
        constexpr bool is_unsigned = std::is_unsigned_v<T>;
        if constexpr (sizeof(T) == 8) return row(is_unsigned ? Dtype::uint64 : Dtype::int64);
        if constexpr (sizeof(T) == 4) return row(is_unsigned ? Dtype::uint32 : Dtype::int32);
        if constexpr (sizeof(T) == 2) return row(is_unsigned ? Dtype::uint16 : Dtype::int16);
        if constexpr (sizeof(T) == 1) return row(is_unsigned ? Dtype::uint8 : Dtype::int8);
    }
    return -1;
}

}  // namespace detail

/// A C++ type whose values Trireme can move.
template <class T>
concept Element = detail::dtype_index<std::remove_cv_t<T>>() >= 0;

/// The dtype of a C++ type.
template <Element T>
inline constexpr Dtype dtype_of = static_cast<Dtype>(detail::dtype_index<std::remove_cv_t<T>>());

}  // namespace trireme
