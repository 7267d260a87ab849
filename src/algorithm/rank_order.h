#pragma once

#include <span>

#include "algorithm/call.h"

namespace trireme::algorithm {

/// Part of several algorithms: every rank sends rank r its contribution to part r, unreduced, and
/// folds what it gets for its own part into `target`, from rank 0 to the last: the left fold in
/// rank order, which any placement, transport or cutting leaves the same to the last bit. `parts`
/// are this rank's contributions. Steps from 0 to n - 1; not concluded.
Task exchange_and_fold(Call& call, std::span<const Buffer> parts, const Buffer& target);

}  // namespace trireme::algorithm
