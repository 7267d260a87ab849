#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "trireme/op.h"
#include "trireme/work.h"

namespace at {
class Tensor;  // only named here; `send_tensor` and `recv_tensor` live in the torch part
}

namespace trireme {

class GroupState;

/// Some of the ranks of a world, and what they can do together (counterpart: c10d ProcessGroup,
/// MPI communicator).
///
/// A light value: copies refer to the same group. Every member must make the same collective calls
/// in the same order; a call that does not fit its peers' fails on every rank, naming both calls.
/// Every operation takes spans, vectors, arrays, single numbers and, with `trireme/torch.h`,
/// tensors. The plain form blocks until this rank's part is done and its buffers may be used again;
/// the `_async` form returns at once with a `Work`, and the buffers must not be touched until it
/// ends.
///
/// All operations throw `Error`: `invalid_argument` or `unsupported` for misuse, before a byte is
/// sent; `mismatch`, `timeout`, `peer_lost` or `aborted` otherwise, after which the group stays
/// failed and says why at each later use. Other groups are not affected.
///
/// Counts are elements. `n` stands for `size()`.
class Group {
public:
    /// No group: `is_member()` is false.
    Group() noexcept = default;
    explicit Group(std::shared_ptr<GroupState> state, Timeout timeout = Timeout{0}) noexcept;

    /// Whether this process belongs to the group. A non-member may hold one, but not use it.
    [[nodiscard]] bool is_member() const noexcept;
    /// This process's rank in the group, 0 to n - 1; -1 if it is not a member.
    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept;
    /// The world rank of each group rank.
    [[nodiscard]] std::span<const int> ranks() const noexcept;

    /// A view of the same group whose operations fail after `timeout`.
    [[nodiscard]] Group with(Timeout timeout) const noexcept { return Group(state_, timeout); }

    /// Fails the group on every member: calls in flight, this process's and the peers', end with
    /// `ErrorCode::aborted` and `reason`. Callable from any thread.
    void abort(const std::string& reason) const;

    // --- Collectives ---------------------------------------------------------------------------

    /// `root`'s data to every rank. `data` has the same count everywhere.
    /// torch.distributed.broadcast, MPI_Bcast.
    template <WritableOperand X>
    void broadcast(X&& data, Root root, Site site = Site::current()) const {
        in_place(rooted(OpKind::broadcast, root, site), data);
    }
    template <WritableOperand X>
    Work broadcast_async(X&& data, Root root, Site site = Site::current()) const {
        return in_place_async(rooted(OpKind::broadcast, root, site), data);
    }

    /// Every rank gets the reduction of all ranks' data, the same bits on each.
    /// torch.distributed.all_reduce, MPI_Allreduce.
    template <WritableOperand X>
    void all_reduce(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        in_place(reducing(OpKind::all_reduce, reduce, site), data);
    }
    template <OperandLike In, WritableOperand Out>
    void all_reduce(In&& in, Out&& out, ReduceOp reduce = sum, Site site = Site::current()) const {
        from_to(reducing(OpKind::all_reduce, reduce, site), in, out);
    }
    template <WritableOperand X>
    Work all_reduce_async(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        return in_place_async(reducing(OpKind::all_reduce, reduce, site), data);
    }
    template <LastingOperand In, WritableOperand Out>
    Work all_reduce_async(In&& in, Out&& out, ReduceOp reduce = sum,
                          Site site = Site::current()) const {
        return from_to_async(reducing(OpKind::all_reduce, reduce, site), in, out);
    }

    /// `root` gets the reduction of all ranks' data; the other ranks' data stays as it is.
    /// torch.distributed.reduce, MPI_Reduce.
    template <WritableOperand X>
    void reduce(X&& data, Root root, ReduceOp reduce = sum, Site site = Site::current()) const {
        in_place(reducing(OpKind::reduce, reduce, site, root.rank), data);
    }
    template <WritableOperand X>
    Work reduce_async(X&& data, Root root, ReduceOp reduce = sum,
                      Site site = Site::current()) const {
        return in_place_async(reducing(OpKind::reduce, reduce, site, root.rank), data);
    }

    /// `in` of every rank, one behind the other in rank order: `out` has n times `in`'s count. `in`
    /// may be this rank's own slice of `out`.
    /// torch.distributed.all_gather_into_tensor, MPI_Allgather.
    template <OperandLike In, WritableOperand Out>
    void all_gather(In&& in, Out&& out, Site site = Site::current()) const {
        from_to(plain(OpKind::all_gather, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work all_gather_async(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to_async(plain(OpKind::all_gather, site), in, out);
    }

    /// As `all_gather`, but to `root` only; `out` is not looked at elsewhere and may be empty.
    /// torch.distributed.gather, MPI_Gather.
    template <OperandLike In, WritableOperand Out>
    void gather(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::gather, root, site);
        root.rank == rank() ? from_to(op, in, out) : from(op, in);
    }
    template <LastingOperand In, WritableOperand Out>
    Work gather_async(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::gather, root, site);
        return root.rank == rank() ? from_to_async(op, in, out) : from_async(op, in);
    }

    /// Slice r of `root`'s `in`, which has n times `out`'s count, to each rank r; `in` is not
    /// looked at elsewhere and may be empty.
    /// torch.distributed.scatter, MPI_Scatter.
    template <OperandLike In, WritableOperand Out>
    void scatter(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::scatter, root, site);
        root.rank == rank() ? from_to(op, in, out) : to(op, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work scatter_async(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::scatter, root, site);
        return root.rank == rank() ? from_to_async(op, in, out) : to_async(op, out);
    }

    /// Rank r gets slice r of the reduction of all ranks' `in`, which has n times `out`'s count.
    /// torch.distributed.reduce_scatter_tensor, MPI_Reduce_scatter_block.
    template <OperandLike In, WritableOperand Out>
    void reduce_scatter(In&& in, Out&& out, ReduceOp reduce = sum,
                        Site site = Site::current()) const {
        from_to(reducing(OpKind::reduce_scatter, reduce, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work reduce_scatter_async(In&& in, Out&& out, ReduceOp reduce = sum,
                              Site site = Site::current()) const {
        return from_to_async(reducing(OpKind::reduce_scatter, reduce, site), in, out);
    }

    /// Slice r of every rank's `in` goes to rank r; `in` and `out` have the same count, a multiple
    /// of n.
    /// torch.distributed.all_to_all_single, MPI_Alltoall.
    template <OperandLike In, WritableOperand Out>
    void all_to_all(In&& in, Out&& out, Site site = Site::current()) const {
        from_to(plain(OpKind::all_to_all, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work all_to_all_async(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to_async(plain(OpKind::all_to_all, site), in, out);
    }

    /// Returns once every rank has called it. torch.distributed.barrier, MPI_Barrier.
    void barrier(Site site = Site::current()) const { run(plain(OpKind::barrier, site)); }
    Work barrier_async(Site site = Site::current()) const {
        return start(plain(OpKind::barrier, site), std::nullopt, std::nullopt);
    }

    // --- Point to point ------------------------------------------------------------------------

    /// Sends `data` to `peer`; messages between two ranks with the same tag arrive in order. Small
    /// messages are buffered; large ones wait for the matching receive.
    /// torch.distributed.send, MPI_Send.
    template <OperandLike X>
    void send(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        from(to_peer(OpKind::send, peer, tag, site), data);
    }
    template <LastingOperand X>
    Work send_async(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        return from_async(to_peer(OpKind::send, peer, tag, site), data);
    }

    /// Receives into `data`, whose count and dtype must be those of the matching send.
    /// torch.distributed.recv, MPI_Recv.
    template <WritableOperand X>
    void recv(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        to(to_peer(OpKind::recv, peer, tag, site), data);
    }
    template <WritableOperand X>
    Work recv_async(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        return to_async(to_peer(OpKind::recv, peer, tag, site), data);
    }

    /// Sends a tensor together with its shape and dtype; `recv_tensor` on the other side makes it.
    /// Up to 8 dimensions. Needs the torch part.
    void send_tensor(const at::Tensor& tensor, Peer peer, Tag tag = default_tag,
                     Site site = Site::current()) const;
    /// Receives a tensor that came by `send_tensor`. Needs the torch part.
    [[nodiscard]] at::Tensor recv_tensor(Peer peer, Tag tag = default_tag,
                                         Site site = Site::current()) const;

    // --- What all of the above come down to ----------------------------------------------------

    /// Runs `op` on this thread and returns when it has ended.
    void run(const Op& op) const;

    /// Starts `op` on `in` and `out`, which replace its buffers. No `in` for an operation that
    /// reads and writes means in place.
    Work start(const Op& op, std::optional<Operand> in, std::optional<Operand> out) const;

private:
    static Op plain(OpKind kind, Site site) noexcept { return {.kind = kind, .site = site}; }
    static Op rooted(OpKind kind, Root root, Site site) noexcept {
        return {.kind = kind, .peer = root.rank, .site = site};
    }
    static Op reducing(OpKind kind, ReduceOp reduce, Site site, int root = -1) noexcept {
        return {.kind = kind, .reduce = reduce, .peer = root, .site = site};
    }
    static Op to_peer(OpKind kind, Peer peer, Tag tag, Site site) noexcept {
        return {.kind = kind, .peer = peer.rank, .tag = tag.value, .site = site};
    }

    template <class X>
    void in_place(Op op, X& data) const {
        const Operand x = make_operand(data, Access::update, Hold::call);
        op.in = op.out = {&x.buffer, 1};
        run(op);
        x.finish();
    }
    template <class X>
    Work in_place_async(const Op& op, X& data) const {
        return start(op, std::nullopt, make_operand(data, Access::update, Hold::work));
    }
    template <class In, class Out>
    void from_to(Op op, In& in, Out& out) const {
        const Operand source = make_operand(in, Access::read, Hold::call);
        const Operand target = make_operand(out, Access::write, Hold::call);
        op.in = {&source.buffer, 1};
        op.out = {&target.buffer, 1};
        run(op);
        target.finish();
    }
    template <class In, class Out>
    Work from_to_async(const Op& op, In& in, Out& out) const {
        return start(op, make_operand(in, Access::read, Hold::work),
                     make_operand(out, Access::write, Hold::work));
    }

    template <class In>
    void from(Op op, In& in) const {
        const Operand source = make_operand(in, Access::read, Hold::call);
        op.in = {&source.buffer, 1};
        run(op);
    }
    template <class In>
    Work from_async(const Op& op, In& in) const {
        return start(op, make_operand(in, Access::read, Hold::work), std::nullopt);
    }
    template <class Out>
    void to(Op op, Out& out) const {
        const Operand target = make_operand(out, Access::write, Hold::call);
        op.out = {&target.buffer, 1};
        run(op);
        target.finish();
    }
    template <class Out>
    Work to_async(const Op& op, Out& out) const {
        return start(op, std::nullopt, make_operand(out, Access::write, Hold::work));
    }

    std::shared_ptr<GroupState> state_;
    Timeout timeout_{0};
};

}  // namespace trireme
