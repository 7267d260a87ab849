#pragma once

#include <cstdint>
#include <span>

#include "trireme/buffer.h"
#include "trireme/reduce_op.h"
#include "trireme/types.h"

namespace trireme {

/// The operations, in the order of the rows of the `OpInfo` table.
enum class OpKind : std::uint8_t {
    broadcast,
    all_reduce,
    reduce,
    all_gather,
    gather,
    scatter,
    reduce_scatter,
    all_to_all,
    barrier,
    scan,
    exclusive_scan,
    send,
    recv,
    monitored_barrier,
};

inline constexpr std::size_t op_kinds = 14;

/// What is asked of a group: one value that flows unchanged from the API through validation,
/// selection and algorithm to the backend. It borrows everything it points to.
///
/// `in` and `out` hold one contiguous buffer each, or none; an operation in place has the same
/// buffer in both. Where an operation has a part for each rank (the `in` of scatter, reduce_scatter
/// and all_to_all, the `out` of gather, all_gather and all_to_all) one buffer stands for equal
/// parts side by side; instead there may be a buffer per rank, of any length and anywhere.
struct Op {
    OpKind kind = OpKind::barrier;
    std::span<const Buffer> in{};
    std::span<const Buffer> out{};
    /// Whether it was a list, or `split`, that gave the buffers: such must have a part for each
    /// rank, and a list of one does not stand for equal parts.
    bool in_is_list = false;
    bool out_is_list = false;
    ReduceOp reduce = sum;
    /// Root, or other side of a send or receive: a rank of the group; -1: none; `AnySource::rank`.
    int peer = -1;
    int tag = 0;
    Timeout timeout{};  ///< 0: the group's
    /// What the calls are known by that were joined into this one; 0: it is one call.
    std::uint32_t joined = 0;
    Site site{};
    void* stream = nullptr;  ///< opaque, for devices
};

}  // namespace trireme
