#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "trireme/dtype.h"

namespace trireme {

class UserReduce;

/// How values of several ranks become one: `trireme::sum`, `prod`, `min`, `max`, `avg`, the bitwise
/// `band`, `bor`, `bxor`, the logical `land`, `lor`, `lxor`, `premul_sum(factor)`, or one's own
/// (`UserReduce`). docs/operations.md says which dtypes each one takes. A light value.
class ReduceOp {
public:
    enum class Kind : std::uint8_t {
        sum,
        prod,
        min,
        max,
        avg,
        band,
        bor,
        bxor,
        land,
        lor,
        lxor,
        premul_sum,
        user,
    };

    constexpr explicit ReduceOp(Kind kind, double factor = 1) noexcept
        : kind_(kind), factor_(factor) {}
    constexpr explicit ReduceOp(const UserReduce& user) noexcept
        : kind_(Kind::user), user_(&user) {}

    [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
    /// What this rank's values are multiplied with first; 1 except for `premul_sum`.
    [[nodiscard]] constexpr double factor() const noexcept { return factor_; }
    /// Null except for a `UserReduce`.
    [[nodiscard]] constexpr const UserReduce* user() const noexcept { return user_; }
    [[nodiscard]] constexpr bool operator==(const ReduceOp&) const noexcept = default;

private:
    Kind kind_;
    double factor_ = 1;
    const UserReduce* user_ = nullptr;
};

inline constexpr std::size_t reduce_op_kinds = static_cast<std::size_t>(ReduceOp::Kind::user) + 1;

inline constexpr ReduceOp sum{ReduceOp::Kind::sum};
inline constexpr ReduceOp prod{ReduceOp::Kind::prod};
inline constexpr ReduceOp min{ReduceOp::Kind::min};
inline constexpr ReduceOp max{ReduceOp::Kind::max};
/// The sum divided by the number of ranks whose values are in it, which for the scans is not all of
/// them; floating-point and complex dtypes only.
inline constexpr ReduceOp avg{ReduceOp::Kind::avg};
inline constexpr ReduceOp band{ReduceOp::Kind::band};
inline constexpr ReduceOp bor{ReduceOp::Kind::bor};
inline constexpr ReduceOp bxor{ReduceOp::Kind::bxor};
/// Logical: 1 where all values are not 0, else 0.
inline constexpr ReduceOp land{ReduceOp::Kind::land};
/// Logical: 1 where any value is not 0, else 0.
inline constexpr ReduceOp lor{ReduceOp::Kind::lor};
/// Logical: 1 where an odd number of values is not 0, else 0.
inline constexpr ReduceOp lxor{ReduceOp::Kind::lxor};

/// The sum of the values, each multiplied with its rank's `factor` first; floating-point dtypes
/// only. Each rank may have a factor of its own. Counterpart: ncclRedOpCreatePreMulSum.
[[nodiscard]] constexpr ReduceOp premul_sum(double factor) noexcept {
    return ReduceOp(ReduceOp::Kind::premul_sum, factor);
}

/// A reduction of one's own; must outlive the operations that use it. All ranks must use one of the
/// same name. Counterpart: MPI_Op_create.
///
///     const UserReduce longer("longer", [](const void* a, const void* b, void* out,
///                                          std::size_t count, Dtype dtype) { ... }, true);
///     group.all_reduce(x, longer);
class UserReduce {
public:
    /// out[i] = a[i] op b[i] for `count` elements, a's values coming from lower ranks than b's.
    /// `out` may be `a` or `b`. It must be associative, and must not throw. It sees the values in
    /// the dtype of the call; float16 and bfloat16 arrive as float32 and are rounded at the end.
    using Function = std::function<void(const void* a, const void* b, void* out, std::size_t count,
                                        Dtype dtype)>;

    /// `commutes`: a op b = b op a, so that ranks may be combined in any order; if not, they are
    /// combined in rank order.
    UserReduce(std::string name, Function function, bool commutes)
        : name_(std::move(name)), function_(std::move(function)), commutes_(commutes) {}
    UserReduce(const UserReduce&) = delete;
    UserReduce& operator=(const UserReduce&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] bool commutes() const noexcept { return commutes_; }
    void apply(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count,
               Dtype dtype) const {
        function_(a, b, out, count, dtype);
    }
    // Wanted: operations take it where they take `sum`.
    operator ReduceOp() const noexcept { return ReduceOp(*this); }  // NOLINT(*-explicit-*)

private:
    std::string name_;
    Function function_;
    bool commutes_;
};

[[nodiscard]] constexpr std::string_view name(ReduceOp::Kind kind) noexcept {
    constexpr std::array<std::string_view, reduce_op_kinds> names{
        "sum",  "prod", "min", "max",  "avg",        "band", "bor",
        "bxor", "land", "lor", "lxor", "premul_sum", "user"};
    return names[static_cast<std::size_t>(kind)];
}

[[nodiscard]] inline std::string_view name(ReduceOp op) noexcept {
    return op.user() != nullptr ? std::string_view(op.user()->name()) : name(op.kind());
}

}  // namespace trireme
