#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/buffer.h"

namespace trireme {

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

    /// Called after the operation succeeded, before its `Work` is done.
    virtual void finish() {}
    /// Called before a prepared operation starts anew.
    virtual void refresh() {}
};

/// An argument of an operation: its buffer, or one buffer per rank, and what stands behind it.
struct Operand {
    Buffer buffer;
    std::unique_ptr<Keeper> keeper;  ///< null where the memory is the caller's own
    bool borrowed = true;            ///< some memory is not kept alive by `keeper`
    /// Of a list, or of something that is split unevenly: the part of each rank, instead of
    /// `buffer`.
    std::vector<Buffer> blocks{};
    bool is_list = false;

    [[nodiscard]] std::span<const Buffer> buffers() const noexcept {
        return is_list ? std::span<const Buffer>(blocks) : std::span<const Buffer>(&buffer, 1);
    }
    void finish() const {
        if (keeper) keeper->finish();
    }
};

/// How a type becomes an operand; specialise it to let operations take a type of your own.
/// `make(value, access, hold)` returns an `Operand`; it may throw `Error`.
template <class T>
struct OperandTraits;

/// A type that operations take: a span, a vector, an array, a single number, with
/// `trireme/torch.h` an `at::Tensor`; where an operation has a part for each rank also a list of
/// these, or something `split`.
template <class T>
concept OperandLike = requires(T& value) {
    { OperandTraits<std::remove_cvref_t<T>>::make(value, Access::read, Hold::call) };
};

/// Elements side by side: a span, a vector, an array.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                       Element<std::ranges::range_value_t<R>>;

/// A range of operands, one per rank: a vector of vectors, of spans, of tensors.
template <class R>
concept OperandRange = std::ranges::forward_range<R> && std::ranges::sized_range<R> &&
                       !Element<std::ranges::range_value_t<R>> &&
                       std::is_lvalue_reference_v<std::ranges::range_reference_t<R>> &&
                       OperandLike<std::ranges::range_value_t<R>>;

template <ElementRange R>
struct OperandTraits<R> {
    template <class Range>
    static Operand make(Range& range, Access, Hold) {
        using Value = std::remove_cv_t<std::ranges::range_value_t<Range>>;
        // Only reads go through a const pointer: `WritableOperand` refuses the others.
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

/// Keeps what stands behind each part of a list.
class ListKeeper final : public Keeper {
public:
    explicit ListKeeper(std::vector<std::unique_ptr<Keeper>> parts) : parts_(std::move(parts)) {}
    void finish() override {
        for (const auto& part : parts_) part->finish();
    }
    void refresh() override {
        for (const auto& part : parts_) part->refresh();
    }

private:
    std::vector<std::unique_ptr<Keeper>> parts_;
};

// The blocks are a vector: a list is as long as the group, and its parts come from everywhere.
template <class Range>
Operand make_list(Range& range, Access access, Hold hold) {
    Operand list;
    list.is_list = true;
    list.borrowed = false;
    list.blocks.reserve(std::ranges::size(range));
    std::vector<std::unique_ptr<Keeper>> keepers;
    for (auto& part : range) {
        using Part = std::remove_cvref_t<decltype(part)>;
        Operand one = OperandTraits<Part>::make(part, access, hold);
        list.blocks.push_back(one.buffer);
        list.borrowed = list.borrowed || one.borrowed;
        if (one.keeper) keepers.push_back(std::move(one.keeper));
    }
    if (!keepers.empty()) list.keeper = std::make_unique<ListKeeper>(std::move(keepers));
    return list;
}

}  // namespace detail

template <OperandRange R>
struct OperandTraits<R> {
    template <class Range>
    static Operand make(Range& range, Access access, Hold hold) {
        return detail::make_list(range, access, hold);
    }
};

/// An operand cut into one part per rank, of different lengths: see `split`.
template <class X>
struct Split {
    X whole;  ///< a reference where it was given an lvalue
    std::vector<std::size_t> counts;
};

/// `whole`, cut into parts of `counts` elements, one per rank, in rank order: what an uneven
/// all_gather, gather, scatter, reduce_scatter or all_to_all takes in place of an evenly cut
/// buffer. Together they must be all of `whole`. Counts may be 0.
///
///     group.all_to_all(split(x, {3, 2, 1}), split(y, {3, 2, 2}));
///
/// Counterpart: input_split_sizes of all_to_all_single, the counts of MPI_Alltoallv.
template <OperandLike X, std::ranges::input_range Counts>
    requires std::integral<std::ranges::range_value_t<Counts>>
[[nodiscard]] Split<X> split(X&& whole, const Counts& counts) {
    Split<X> result{std::forward<X>(whole), {}};
    // A negative count becomes a huge one, which no buffer has.
    for (const auto count : counts) result.counts.push_back(static_cast<std::size_t>(count));
    return result;
}
template <OperandLike X>
[[nodiscard]] Split<X> split(X&& whole, std::initializer_list<std::size_t> counts) {
    return {std::forward<X>(whole), counts};
}

namespace detail {
/// Cuts `whole`; throws `invalid_argument` where the counts are not all of it.
Operand cut(Operand whole, std::span<const std::size_t> counts);
}  // namespace detail

template <class X>
struct OperandTraits<Split<X>> {
    template <class S>
    static Operand make(S& split, Access access, Hold hold) {
        auto& whole = split.whole;
        using Whole = std::remove_cvref_t<decltype(whole)>;
        return detail::cut(OperandTraits<Whole>::make(whole, access, hold), split.counts);
    }
};

namespace detail {

template <class T>
inline constexpr bool is_split = false;
template <class X>
inline constexpr bool is_split<Split<X>> = true;

/// Whether what `T` stands for outlives the expression: not a temporary that owns its elements.
template <class T>
consteval bool is_lasting() {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (is_split<Plain>) {
        return is_lasting<decltype(Plain::whole)>();
    } else if constexpr (std::is_lvalue_reference_v<T> || std::ranges::view<Plain>) {
        return true;
    } else if constexpr (Element<Plain> || ElementRange<Plain>) {
        return false;
    } else if constexpr (OperandRange<Plain>) {
        return is_lasting<std::ranges::range_value_t<Plain>>();
    } else {
        return true;  // a handle such as a tensor
    }
}

/// Whether what `T` stands for is there after the call without anybody's help: neither a temporary
/// nor what only a temporary handle, such as a tensor, keeps alive.
template <class T>
consteval bool outlives_call() {
    using Plain = std::remove_cvref_t<T>;
    if constexpr (is_split<Plain>) {
        return outlives_call<decltype(Plain::whole)>();
    } else {
        return std::is_lvalue_reference_v<T> || std::ranges::view<Plain>;
    }
}

template <class T>
consteval bool is_writable() {
    using Plain = std::remove_reference_t<T>;
    if constexpr (is_split<std::remove_cv_t<Plain>>) {
        return is_writable<decltype(Plain::whole)>();
    } else if constexpr (ElementRange<Plain>) {
        return !std::is_const_v<
            std::remove_pointer_t<decltype(std::ranges::data(std::declval<Plain&>()))>>;
    } else if constexpr (OperandRange<Plain>) {
        return is_writable<std::ranges::range_reference_t<Plain>>();
    } else if constexpr (Element<Plain>) {
        return !std::is_const_v<Plain>;
    } else {
        return true;  // a handle such as a tensor says for itself
    }
}

}  // namespace detail

/// An operand that outlives the call: not a temporary, unless it is a view or a handle.
template <class T>
concept LastingOperand = OperandLike<T> && detail::is_lasting<T>();

/// An operand that an operation may write to: lasting, and not const.
template <class T>
concept WritableOperand = LastingOperand<T> && detail::is_writable<T>();

template <OperandLike T>
[[nodiscard]] Operand make_operand(T&& value, Access access, Hold hold) {
    return OperandTraits<std::remove_cvref_t<T>>::make(value, access, hold);
}

}  // namespace trireme
