#pragma once

#include <cstdint>
#include <string_view>

namespace trireme {

/// How values of several ranks become one: `trireme::sum`, `prod`, `min`, `max`, `avg`.
///
/// A value rather than an enum, so that operations with a parameter can join later.
class ReduceOp {
public:
    enum class Kind : std::uint8_t { sum, prod, min, max, avg };

    constexpr explicit ReduceOp(Kind kind) noexcept : kind_(kind) {}
    [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
    [[nodiscard]] constexpr bool operator==(const ReduceOp&) const noexcept = default;

private:
    Kind kind_;
};

inline constexpr ReduceOp sum{ReduceOp::Kind::sum};
inline constexpr ReduceOp prod{ReduceOp::Kind::prod};
inline constexpr ReduceOp min{ReduceOp::Kind::min};
inline constexpr ReduceOp max{ReduceOp::Kind::max};
/// The sum divided by the number of ranks; floating-point dtypes only.
inline constexpr ReduceOp avg{ReduceOp::Kind::avg};

[[nodiscard]] constexpr std::string_view name(ReduceOp op) noexcept {
    switch (op.kind()) {
        case ReduceOp::Kind::sum: return "sum";
        case ReduceOp::Kind::prod: return "prod";
        case ReduceOp::Kind::min: return "min";
        case ReduceOp::Kind::max: return "max";
        case ReduceOp::Kind::avg: return "avg";
    }
    return "unknown reduce op";
}

}  // namespace trireme
