#pragma once

#include "algorithm/select.h"

namespace trireme {

/// Whether an operation's values must be changed before ranks combine them: half-precision ones
/// are computed in float32, those of a premul_sum multiplied first.
[[nodiscard]] bool needs_preparation(const Op& op) noexcept;

/// Runs an algorithm on prepared copies of this rank's values, and writes the result, rounded once,
/// where it belongs. So no algorithm knows of either.
Task run_prepared(Call& call, const Algorithm& algorithm);

}  // namespace trireme
