#include "sim/optimum.h"

#include <bit>

namespace trireme {

Optimum optimum(OpKind kind, int ranks, std::size_t bytes) noexcept {
    if (ranks < 2) return {};
    const int steps = std::bit_width(static_cast<unsigned>(ranks - 1));
    const double all = static_cast<double>(bytes);
    const double own = all / ranks;
    switch (kind) {
        case OpKind::barrier:
        case OpKind::monitored_barrier: return {steps, 0};
        case OpKind::all_reduce: return {steps, 2 * (all - own)};
        case OpKind::all_gather:
        case OpKind::reduce_scatter:
        case OpKind::all_to_all:
        case OpKind::scatter: return {steps, all - own};
        case OpKind::gather: return {steps, own};
        default: return {steps, all};
    }
}

}  // namespace trireme
