#pragma once

#include <cstddef>

#include "trireme/op.h"

namespace trireme {

/// What no algorithm can do better, where each rank sends one message at a time.
struct Optimum {
    int steps = 0;     ///< rounds until something of every rank can have reached every other
    double bytes = 0;  ///< that the rank which sends most must send
};

/// `bytes` are those of the longer side of the operation.
[[nodiscard]] Optimum optimum(OpKind kind, int ranks, std::size_t bytes) noexcept;

}  // namespace trireme
