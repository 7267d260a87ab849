#pragma once

#include <cstddef>
#include <span>

#include "core/block_pool.h"
#include "core/op_info.h"
#include "core/parts.h"
#include "core/task.h"
#include "link/link.h"
#include "reduce/combine.h"
#include "trireme/op.h"

namespace trireme {

class Commons;

/// The links of a group's ranks: there from the start, or made when they are used.
class LinkSource {
public:
    [[nodiscard]] virtual Link& link(int rank) = 0;

protected:
    ~LinkSource() = default;
};

/// Where an operation runs: what is the same for all operations of a group.
struct Place {
    int rank = 0;
    int size = 1;
    std::span<Link* const> links;  ///< one per rank, this rank's own leading to itself
    LinkSource* source = nullptr;  ///< instead of `links`
    std::span<const int> hosts;    ///< the host of each rank, numbered from 0 in rank order
    BlockPool* blocks = nullptr;
    Commons* commons = nullptr;  ///< memory that all ranks map; null: there is none
    bool phantom = false;        ///< buffers have no memory: nothing is copied or computed
};

/// What an algorithm sees: one operation, on one rank, and the links to the others.
///
/// An algorithm is a coroutine over a `Call`: it starts transfers and awaits them. Ranks are those
/// of the group, or, of a part of a call, those of the part, numbered from 0. A `step` tells apart
/// the messages of one operation between the same two ranks; those with the same step arrive in
/// order. Steps are below `steps_per_part`.
class Call {
public:
    static constexpr int steps_per_part = 1 << 24;

    Call(const Op& op, const Place& place, const MessageHead& head);

    /// As above, with the reduction looked up before.
    Call(const Op& op, const Place& place, const Combine& combine) noexcept
        : op_(&op), place_(&place), rank_(place.rank), size_(place.size), combine_(combine) {}

    /// A part of `whole`: `op` on some of its ranks (all where `ranks` is empty), among which this
    /// one must be. `number`, from 1 on, tells apart the parts of one operation; 0 stands for the
    /// whole. Only the whole has parts of some ranks. What is passed must outlast the part.
    Call(Call& whole, const Op& op, std::span<const int> ranks, int number);

    [[nodiscard]] const Op& op() const noexcept { return *op_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    /// The rank that `op` names: the root, or the other side of a message.
    [[nodiscard]] int peer() const noexcept { return op_->peer; }
    /// The host of each rank of the group, numbered from 0 in rank order.
    [[nodiscard]] std::span<const int> hosts() const noexcept { return place_->hosts; }

    // --- Buffers -------------------------------------------------------------------------------

    [[nodiscard]] const Buffer& in() const noexcept { return op_->in.front(); }
    [[nodiscard]] const Buffer& out() const noexcept { return op_->out.front(); }
    /// The part of `in` that goes to `rank`, of scattered and exchanged operations.
    [[nodiscard]] Buffer in_block(int rank) const noexcept { return part_of(op_->in, rank, size_); }
    /// The part of `out` that comes from `rank`, of gathered and exchanged operations.
    [[nodiscard]] Buffer out_block(int rank) const noexcept {
        return part_of(op_->out, rank, size_);
    }
    [[nodiscard]] Dtype dtype() const noexcept {
        return (op_->in.empty() ? op_->out : op_->in).front().dtype;
    }

    /// Working memory.
    [[nodiscard]] BlockPool::Block working_memory(std::size_t bytes) {
        return place_->blocks->take(place_->phantom ? 0 : bytes);
    }
    /// Where lists of an algorithm lie.
    [[nodiscard]] BlockPool& pool() const noexcept { return *place_->blocks; }
    /// `memory` as a buffer like `shape`.
    [[nodiscard]] static Buffer like(const Buffer& shape, const BlockPool::Block& memory) noexcept {
        return {memory.data(), shape.count, shape.dtype, shape.device};
    }

    // --- Local work ----------------------------------------------------------------------------

    /// Copies, unless both are the same memory.
    void copy(const Buffer& from, const Buffer& to) const noexcept;
    /// out[i] = a[i] op b[i], a's values coming from lower ranks; `out` may be `a` or `b`.
    void reduce(const Buffer& a, const Buffer& b, const Buffer& out) const;
    /// The end of a reduction: divides by the number of ranks, for avg.
    void conclude(const Buffer& sums) const noexcept { conclude(sums, size_); }
    /// As above, of a reduction of the values of some ranks only.
    void conclude(const Buffer& sums, int ranks) const noexcept;

    // --- Memory of the peers -------------------------------------------------------------------

    /// Null where `rank`'s memory cannot be reached.
    [[nodiscard]] PeerMemory* memory(int rank) { return link(rank).memory(); }

    // --- What messages are made of: see `Send`, `Receive` and `ReceiveReduce` -------------------

    [[nodiscard]] Link& link(int rank) const {
        const int member = members_.empty() ? rank : members_[static_cast<std::size_t>(rank)];
        return place_->source != nullptr ? place_->source->link(member)
                                         : *place_->links[static_cast<std::size_t>(member)];
    }
    /// Whether it is no part of another one.
    [[nodiscard]] bool is_whole() const noexcept { return first_step_ == 0 && members_.empty(); }
    [[nodiscard]] MessageHead head(int step) const noexcept;
    [[nodiscard]] const Combine* combine() const noexcept { return &combine_; }
    [[nodiscard]] const Place& place() const noexcept { return *place_; }

private:
    const Op* op_;
    const Place* place_;
    int rank_;
    int size_;
    std::span<const int> members_;
    MessageHead head_;
    int first_step_ = 0;
    Combine combine_;
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

/// Which of two operands comes from lower ranks: matters to reductions that do not commute.
enum class Order : bool { local_first, arriving_first };

/// target[i] = local[i] op what arrives from rank `from`; `local` may be `target`.
class ReceiveReduce : public Transfer {
public:
    ReceiveReduce(Call& call, int from, int step, const Buffer& local, const Buffer& target,
                  Order order = Order::local_first)
        : Transfer(call.link(from), call.head(step), bytes_of(target),
                   {.combine = call.combine(),
                    .element_bytes = size_of(local.dtype),
                    .local = local.data,
                    .arriving_first = order == Order::arriving_first}) {}
};

}  // namespace trireme
