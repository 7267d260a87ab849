#pragma once

#include <cstddef>

#include "reduce/kernel.h"

namespace trireme {

/// What an operation combines values with: a kernel of the table, or a user's function.
struct Combine {
    ReduceKernel kernel = nullptr;
    const UserReduce* user = nullptr;
    Dtype dtype = Dtype::uint8;

    [[nodiscard]] static Combine of(Dtype dtype, ReduceOp op) noexcept {
        return {op.user() == nullptr ? find_kernel(dtype, op.kind()) : nullptr, op.user(), dtype};
    }
    /// out[i] = a[i] op b[i]; a's values come from lower ranks. `out` may be `a` or `b`.
    void operator()(const std::byte* a, const std::byte* b, std::byte* out,
                    std::size_t count) const {
        if (kernel != nullptr) return kernel(a, b, out, count);
        user->apply(a, b, out, count, dtype);
    }
};

}  // namespace trireme
