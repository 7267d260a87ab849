#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

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

/// What an operation does with an argument.
enum class Access : std::uint8_t { read, write, update };

/// Whether an argument need only last as long as the call (a blocking one) or until the `Work`
/// of a started operation ends.
enum class Hold : std::uint8_t { call, work };

/// Keeps what a buffer stands for alive, and finishes it: a strided tensor, for example, moves
/// through a contiguous copy that `finish` writes back.
class Keeper {
public:
    Keeper() = default;
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;
    virtual ~Keeper() = default;

    /// Called once, after the operation succeeded, before its `Work` is done.
    virtual void finish() {}
};

/// An argument of an operation: its buffer, and what stands behind it.
struct Operand {
    Buffer buffer;
    std::unique_ptr<Keeper> keeper;  ///< null where the memory is the caller's own
    bool borrowed = true;            ///< the memory is not kept alive by `keeper`

    void finish() const {
        if (keeper) keeper->finish();
    }
};

/// How a type becomes an operand; specialise it to let operations take a type of your own.
/// `make(value, access, hold)` returns an `Operand`; it may throw `Error`.
template <class T>
struct OperandTraits;

/// A type that operations take: a span, a vector, an array, a single number, and, with
/// `trireme/torch.h`, an `at::Tensor`.
template <class T>
concept OperandLike = requires(T& value) {
    { OperandTraits<std::remove_cvref_t<T>>::make(value, Access::read, Hold::call) };
};

template <class R>
    requires std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
             Element<std::ranges::range_value_t<R>>
struct OperandTraits<R> {
    template <class Range>
    static Operand make(Range& range, Access, Hold) {
        using Value = std::remove_cv_t<std::ranges::range_value_t<Range>>;
        // Only reads go through a const pointer: `writable` below refuses the others.
        auto* data = const_cast<Value*>(std::ranges::data(range));
        return {{reinterpret_cast<std::byte*>(data), std::ranges::size(range), dtype_of<Value>,
                 Device::host},
                nullptr,
                true};
    }
};

template <Element T>
struct OperandTraits<T> {
    template <class Value>
    static Operand make(Value& value, Access access, Hold hold) {
        std::span<Value> one(&value, 1);
        return OperandTraits<std::span<Value>>::make(one, access, hold);
    }
};

namespace detail {

template <class T>
consteval bool is_writable() {
    using Plain = std::remove_reference_t<T>;
    if constexpr (std::ranges::contiguous_range<Plain>) {
        return !std::is_const_v<
            std::remove_pointer_t<decltype(std::ranges::data(std::declval<Plain&>()))>>;
    } else if constexpr (Element<Plain>) {
        return !std::is_const_v<Plain>;
    } else {
        return true;  // a handle such as a tensor says for itself
    }
}

}  // namespace detail

/// An operand that outlives the call: not a temporary, unless it is a view or a handle.
template <class T>
concept LastingOperand =
    OperandLike<T> &&
    (std::is_lvalue_reference_v<T> || std::ranges::view<std::remove_cvref_t<T>> ||
     !(std::ranges::contiguous_range<std::remove_cvref_t<T>> || Element<std::remove_cvref_t<T>>));

/// An operand that an operation may write to: lasting, and not const.
template <class T>
concept WritableOperand = LastingOperand<T> && detail::is_writable<T>();

template <OperandLike T>
[[nodiscard]] Operand make_operand(T&& value, Access access, Hold hold) {
    return OperandTraits<std::remove_cvref_t<T>>::make(value, access, hold);
}

}  // namespace trireme
