#pragma once

#include <cstddef>
#include <span>

#include "core/block_pool.h"
#include "core/op_info.h"
#include "core/task.h"
#include "link/link.h"
#include "trireme/op.h"

namespace trireme {

/// What an algorithm sees: one operation, on one rank, and the links to the others.
///
/// An algorithm is a coroutine over a `Call`: it starts transfers and awaits them. Ranks are those
/// of the group. A `step` tells apart the messages of one operation between the same two ranks;
/// those with the same step arrive in order.
class Call {
public:
    /// `links` has one link per rank of the group, this rank's own leading to itself.
    Call(const Op& op, int rank, std::span<Link* const> links, const MessageHead& head,
         BlockPool& blocks);

    [[nodiscard]] const Op& op() const noexcept { return op_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(links_.size()); }
    /// The rank that `op` names: the root, or the other side of a message.
    [[nodiscard]] int peer() const noexcept { return op_.peer; }

    // --- Buffers -------------------------------------------------------------------------------

    [[nodiscard]] const Buffer& in() const noexcept { return op_.in.front(); }
    [[nodiscard]] const Buffer& out() const noexcept { return op_.out.front(); }
    /// The part of `in` that goes to `rank`, of scattered and exchanged operations.
    [[nodiscard]] Buffer in_block(int rank) const noexcept { return block(in(), rank); }
    /// The part of `out` that comes from `rank`, of gathered and exchanged operations.
    [[nodiscard]] Buffer out_block(int rank) const noexcept { return block(out(), rank); }

    /// Working memory for `count` elements of the operation's dtype.
    [[nodiscard]] BlockPool::Block working_memory(std::size_t bytes) { return blocks_.take(bytes); }
    /// `memory` as a buffer like `shape`.
    [[nodiscard]] static Buffer like(const Buffer& shape, const BlockPool::Block& memory) noexcept {
        return {memory.data(), shape.count, shape.dtype, shape.device};
    }

    // --- Local work ----------------------------------------------------------------------------

    /// Copies, unless both are the same memory.
    static void copy(const Buffer& from, const Buffer& to) noexcept;
    /// out[i] = a[i] op b[i]; `out` may be `a` or `b`.
    void reduce(const Buffer& a, const Buffer& b, const Buffer& out) const noexcept;
    /// The end of a reduction: divides by the number of ranks, for avg.
    void conclude(const Buffer& sums) const noexcept;

    // --- Memory of the peers -------------------------------------------------------------------

    /// Null where `rank`'s memory cannot be reached.
    [[nodiscard]] PeerMemory* memory(int rank) noexcept { return link(rank).memory(); }

    // --- What messages are made of: see `Send`, `Receive` and `ReceiveReduce` -------------------

    [[nodiscard]] Link& link(int rank) noexcept { return *links_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] MessageHead head(int step) const noexcept;
    [[nodiscard]] ReduceKernel kernel() const noexcept { return kernel_; }

private:
    [[nodiscard]] Buffer block(const Buffer& whole, int rank) const noexcept;

    const Op& op_;
    int rank_;
    std::span<Link* const> links_;
    MessageHead head_;
    BlockPool& blocks_;
    ReduceKernel kernel_ = nullptr;
};

[[nodiscard]] inline Bytes bytes_of(const Buffer& buffer) noexcept {
    return {buffer.data, buffer.bytes()};
}

// The message verbs, as algorithms use them: constructing one starts it, awaiting it ends it. They
// are types rather than functions because GCC 12 copies what a coroutine's variable is initialised
// with.

/// Sends `data` to rank `to`.
class Send : public Transfer {
public:
    Send(Call& call, int to, int step, const Buffer& data)
        : Transfer(call.link(to), call.head(step), ConstBytes(bytes_of(data))) {}
};

/// Receives from rank `from` into `target`.
class Receive : public Transfer {
public:
    Receive(Call& call, int from, int step, const Buffer& target)
        : Transfer(call.link(from), call.head(step), bytes_of(target), {}) {}
};

/// target[i] = local[i] op what arrives from rank `from`; `local` may be `target`.
class ReceiveReduce : public Transfer {
public:
    ReceiveReduce(Call& call, int from, int step, const Buffer& local, const Buffer& target)
        : Transfer(call.link(from), call.head(step), bytes_of(target),
                   {.kernel = call.kernel(),
                    .element_bytes = size_of(local.dtype),
                    .local = local.data}) {}
};

}  // namespace trireme
