#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/coalesce.h"
#include "trireme/error.h"
#include "trireme/group_options.h"
#include "trireme/op.h"
#include "trireme/op_makers.h"
#include "trireme/operand.h"
#include "trireme/prepared_operations.h"
#include "trireme/shared_buffer.h"
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
/// in the same order; a call that does not fit its peers' fails on every rank, naming both calls:
/// at once where a rank waits, at its next use of the group where its call had returned.
/// Every operation takes spans, vectors, arrays, single numbers and, with `trireme/torch.h`,
/// tensors. The plain form blocks until this rank's part is done and its buffers may be used again;
/// the `_async` form returns at once with a `Work`, and the buffers must not be touched until it
/// ends.
///
/// All operations throw `Error`: `invalid_argument` or `unsupported` for misuse, before a byte is
/// sent; `mismatch`, `timeout`, `peer_lost` or `aborted` otherwise, after which the group stays
/// failed and says why at each later use. Other groups are not affected. Counts are elements.
class Group : public PreparedOperations<Group>, public SharedAllocation<Group>, private OpMakers {
public:
    /// No group: `is_member()` is false.
    Group() noexcept = default;
    explicit Group(std::shared_ptr<GroupState> state, Limits limits = {}) noexcept;

    /// Whether this process belongs to the group. A non-member may hold one, but not use it.
    [[nodiscard]] bool is_member() const noexcept;
    /// This process's rank in the group, 0 to n - 1; -1 if it is not a member.
    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;  ///< n in what follows
    [[nodiscard]] const std::string& name() const noexcept;
    /// The world rank of each group rank.
    [[nodiscard]] std::span<const int> ranks() const noexcept;
    /// The rank in this group of a world rank; -1 if it is not a member.
    /// torch.distributed.get_group_rank, MPI_Group_translate_ranks.
    [[nodiscard]] int rank_of(int world_rank) const noexcept;
    /// The world rank of a rank of this group; throws `invalid_argument` if there is none.
    /// torch.distributed.get_global_rank.
    [[nodiscard]] int world_rank_of(int group_rank) const;

    // --- New groups out of this one ------------------------------------------------------------

    /// A group of some of this one's ranks, given as ranks of this group; see `World::group`.
    /// torch.distributed.new_group.
    [[nodiscard]] Group subgroup(const std::vector<int>& group_ranks,
                                 GroupOptions options = {}) const;

    /// One group per color: all ranks with the same one, in the order of their keys, of equal keys
    /// in the order of their ranks. A rank with a negative color gets no group. All ranks of this
    /// group must call it. MPI_Comm_split.
    [[nodiscard]] Group split(int color, int key = 0, GroupOptions options = {},
                              Site site = Site::current()) const;

    /// This rank's group of `size` consecutive ranks; `size` must divide the number of ranks.
    /// torch.distributed.new_subgroups.
    [[nodiscard]] Group blocks_of(int size, GroupOptions options = {}) const;

    /// A view of the same group whose operations fail after `timeout`, and warn after `patience`.
    [[nodiscard]] Group with(Timeout timeout, Timeout patience = Timeout{0}) const noexcept {
        return Group(state_, {timeout, patience});
    }

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
        from_to<In>(reducing(OpKind::all_reduce, reduce, site), in, out);
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

    /// `in` of every rank, in rank order. `out` is one buffer of n times `in`'s count, or a list of
    /// n operands, or, for parts of different counts, one that is `split`; all ranks must name the
    /// same counts. `in` may be this rank's own part of `out`.
    /// torch.distributed.all_gather, all_gather_into_tensor; MPI_Allgather, MPI_Allgatherv.
    template <OperandLike In, WritableOperand Out>
    void all_gather(In&& in, Out&& out, Site site = Site::current()) const {
        from_to<In>(plain(OpKind::all_gather, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work all_gather_async(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to_async(plain(OpKind::all_gather, site), in, out);
    }

    /// As `all_gather`, but to `root` only, which alone must know the counts; `out` is not looked
    /// at elsewhere and may be empty. torch.distributed.gather, MPI_Gather, MPI_Gatherv.
    template <OperandLike In, WritableOperand Out>
    void gather(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::gather, root, site);
        root.rank == rank() ? from_to<In>(op, in, out) : from<In>(op, in);
    }
    template <LastingOperand In, WritableOperand Out>
    Work gather_async(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::gather, root, site);
        return root.rank == rank() ? from_to_async(op, in, out) : from_async(op, in);
    }

    /// Part r of `root`'s `in` to each rank r: of one buffer of n times `out`'s count, of a list,
    /// or of one that is `split`. `in` is not looked at elsewhere and may be empty.
    /// torch.distributed.scatter, MPI_Scatter, MPI_Scatterv.
    template <OperandLike In, WritableOperand Out>
    void scatter(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::scatter, root, site);
        root.rank == rank() ? from_to<In>(op, in, out) : static_cast<void>(to(op, out));
    }
    template <LastingOperand In, WritableOperand Out>
    Work scatter_async(In&& in, Out&& out, Root root, Site site = Site::current()) const {
        const Op op = rooted(OpKind::scatter, root, site);
        return root.rank == rank() ? from_to_async(op, in, out) : to_async(op, out);
    }

    /// Rank r gets part r of the reduction of all ranks' `in`: one buffer of n times `out`'s count,
    /// or a list, or one that is `split`; all ranks must name the same counts. `out` may be this
    /// rank's own part of `in`.
    /// torch.distributed.reduce_scatter, reduce_scatter_tensor; MPI_Reduce_scatter,
    /// MPI_Reduce_scatter_block.
    template <OperandLike In, WritableOperand Out>
    void reduce_scatter(In&& in, Out&& out, ReduceOp reduce = sum,
                        Site site = Site::current()) const {
        from_to<In>(reducing(OpKind::reduce_scatter, reduce, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work reduce_scatter_async(In&& in, Out&& out, ReduceOp reduce = sum,
                              Site site = Site::current()) const {
        return from_to_async(reducing(OpKind::reduce_scatter, reduce, site), in, out);
    }

    /// Part r of every rank's `in` goes to rank r, whose part of this rank in `out` it becomes.
    /// `in` and `out` have the same count, a multiple of n; or they are `split`, or lists, and each
    /// two ranks agree on what goes between them; all ranks must use the same one of these forms.
    /// torch.distributed.all_to_all, all_to_all_single; MPI_Alltoall, MPI_Alltoallv.
    template <OperandLike In, WritableOperand Out>
    void all_to_all(In&& in, Out&& out, Site site = Site::current()) const {
        from_to<In>(plain(OpKind::all_to_all, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Work all_to_all_async(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to_async(plain(OpKind::all_to_all, site), in, out);
    }

    /// Returns once every rank has called it. torch.distributed.barrier, MPI_Barrier.
    void barrier(Site site = Site::current()) const {
        Op op = plain(OpKind::barrier, site);
        run_on(op, nullptr, true, nullptr);
    }
    Work barrier_async(Site site = Site::current()) const {
        return start(plain(OpKind::barrier, site), std::nullopt, std::nullopt);
    }

    /// A barrier that names, at its deadline, every rank that has not called it, whatever can be
    /// seen of it: all report to rank 0, so it is slower. torch.distributed.monitored_barrier.
    void monitored_barrier(Timeout timeout = Timeout{0}, Site site = Site::current()) const {
        Op op = plain(OpKind::monitored_barrier, site);
        op.timeout = timeout;
        run_on(op, nullptr, true, nullptr);
    }

    /// Rank r gets the reduction of the data of ranks 0 to r. MPI_Scan.
    template <WritableOperand X>
    void scan(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        in_place(reducing(OpKind::scan, reduce, site), data);
    }
    template <OperandLike In, WritableOperand Out>
    void scan(In&& in, Out&& out, ReduceOp reduce = sum, Site site = Site::current()) const {
        from_to<In>(reducing(OpKind::scan, reduce, site), in, out);
    }
    template <WritableOperand X>
    Work scan_async(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        return in_place_async(reducing(OpKind::scan, reduce, site), data);
    }

    /// Rank r gets the reduction of the data of ranks 0 to r - 1; rank 0's `data` stays as it is.
    /// MPI_Exscan.
    template <WritableOperand X>
    void exclusive_scan(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        in_place(reducing(OpKind::exclusive_scan, reduce, site), data);
    }
    template <OperandLike In, WritableOperand Out>
    void exclusive_scan(In&& in, Out&& out, ReduceOp reduce = sum,
                        Site site = Site::current()) const {
        from_to<In>(reducing(OpKind::exclusive_scan, reduce, site), in, out);
    }
    template <WritableOperand X>
    Work exclusive_scan_async(X&& data, ReduceOp reduce = sum, Site site = Site::current()) const {
        return in_place_async(reducing(OpKind::exclusive_scan, reduce, site), data);
    }

    /// Turns many blocking calls on this group of one kind, dtype and reduce op, made by this
    /// thread inside `calls`, into one operation: `group.coalesce([&] { for (auto& x : all)
    /// group.all_reduce(x); })`. Nothing is sent before `calls` returns; what they name must live
    /// until then, and none may write what another uses. Sends and receives may be mixed. Started
    /// and prepared operations go their own way. Throws `invalid_argument`, with nothing sent, for
    /// calls that cannot become one; what is several calls in itself (split, objects, send_tensor)
    /// and a receive from any source are refused. batch_isend_irecv; ncclGroupStart.
    template <std::invocable Calls>
    void coalesce(Calls&& calls) const {
        CoalescingScope scope(state(), limits_);
        calls();
        scope.run();
    }

    /// Whether this thread is inside `coalesce` on this group.
    [[nodiscard]] bool is_coalescing() const noexcept;

    // --- Point to point ------------------------------------------------------------------------

    /// Sends `data` to `peer`; messages between two ranks with the same tag arrive in order. Small
    /// messages are buffered; large ones wait for the matching receive; to oneself they throw where
    /// no receive was started. isend and irecv of torch.distributed are `send_async` and
    /// `recv_async`, batch_isend_irecv is any number of them, and `wait_all`. MPI_Send.
    template <OperandLike X>
    void send(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        from<X>(to_peer(OpKind::send, peer, tag, site), data);
    }
    template <LastingOperand X>
    Work send_async(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        return from_async(to_peer(OpKind::send, peer, tag, site), data);
    }

    /// Receives into `data`, whose count and dtype must be those of the matching send. A blocking
    /// receive from oneself must find its message, or throws. torch.distributed.recv, MPI_Recv.
    template <WritableOperand X>
    void recv(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        to(to_peer(OpKind::recv, peer, tag, site), data);
    }
    template <WritableOperand X>
    Work recv_async(X&& data, Peer peer, Tag tag = default_tag, Site site = Site::current()) const {
        return to_async(to_peer(OpKind::recv, peer, tag, site), data);
    }

    /// Receives the first message under `tag` that comes from any rank, and returns that rank. A
    /// receive from a named rank goes first, whichever was there first. torch.distributed.recv
    /// without src, MPI_Recv from MPI_ANY_SOURCE.
    template <WritableOperand X>
    int recv(X&& data, AnySource, Tag tag = default_tag, Site site = Site::current()) const {
        return to(from_any(tag, site), data);
    }
    /// `Work::source` tells the rank.
    template <WritableOperand X>
    Work recv_async(X&& data, AnySource, Tag tag = default_tag, Site site = Site::current()) const {
        return to_async(from_any(tag, site), data);
    }

    /// Sends a tensor together with its shape and dtype; `recv_tensor` on the other side makes it.
    /// Up to 8 dimensions. Needs the torch part.
    void send_tensor(const at::Tensor& tensor, Peer peer, Tag tag = default_tag,
                     Site site = Site::current()) const;
    /// Receives a tensor that came by `send_tensor`. Needs the torch part.
    [[nodiscard]] at::Tensor recv_tensor(Peer peer, Tag tag = default_tag,
                                         Site site = Site::current()) const;

    // --- What all of the above come down to ----------------------------------------------------

    /// Runs `op` on this thread and returns when it has ended: of a receive the source, else -1.
    int run(const Op& op) const;  // NOLINT(modernize-use-nodiscard): mostly nobody asks

    /// Starts `op` on `in` and `out`, which replace its buffers. No `in` for an operation that
    /// reads and writes means in place.
    Work start(const Op& op, std::optional<Operand> in, std::optional<Operand> out) const;

    /// As `start`, for an operation that will be started later, perhaps many times.
    [[nodiscard]] Prepared prepare(const Op& op, std::optional<Operand> in,
                                   std::optional<Operand> out) const;

private:
    friend class PreparedOperations<Group>;
    friend std::shared_ptr<std::byte> detail::allocate_shared(const Group&, std::size_t, Site);

    /// The state, or throws where this process is no member.
    [[nodiscard]] const std::shared_ptr<GroupState>& state() const;

    /// Runs `op` on these operands, and finishes them; or, inside `coalesce`, keeps it for later.
    /// `in_lasts`: what `in` stands for is not a temporary, which would be gone by then.
    int run_on(Op& op, Operand* in, bool in_lasts, Operand* out) const;

    // What is wrong with an argument, said with the call that it is wrong for.
    template <class X>
    Operand operand(const Op& op, X& value, Access access, Hold hold) const {
        try {
            return make_operand(value, access, hold);
        } catch (const Error& error) {
            refuse_argument(op, error);
        }
    }
    [[noreturn]] void refuse_argument(const Op& op, const Error& error) const;

    // Rank 0 of an exclusive scan gets nothing: what is there stays.
    static constexpr Access access_to_out(const Op& op) noexcept {
        return op.kind == OpKind::exclusive_scan ? Access::update : Access::write;
    }
    template <class X>
    void in_place(Op op, X& data) const {
        Operand x = operand(op, data, Access::update, Hold::call);
        run_on(op, nullptr, true, &x);
    }
    template <class X>
    Work in_place_async(const Op& op, X& data) const {
        return start(op, std::nullopt, operand(op, data, Access::update, Hold::work));
    }
    // `In` is what the caller gave, a reference or not.
    template <class In, class Out>
    void from_to(Op op, std::remove_reference_t<In>& in, Out& out) const {
        Operand source = operand(op, in, Access::read, Hold::call);
        Operand target = operand(op, out, access_to_out(op), Hold::call);
        run_on(op, &source, detail::outlives_call<In>(), &target);
    }
    template <class In, class Out>
    Work from_to_async(const Op& op, In& in, Out& out) const {
        return start(op, operand(op, in, Access::read, Hold::work),
                     operand(op, out, access_to_out(op), Hold::work));
    }

    template <class In>
    void from(Op op, std::remove_reference_t<In>& in) const {
        Operand source = operand(op, in, Access::read, Hold::call);
        run_on(op, &source, detail::outlives_call<In>(), nullptr);
    }
    template <class In>
    Work from_async(const Op& op, In& in) const {
        return start(op, operand(op, in, Access::read, Hold::work), std::nullopt);
    }
    template <class Out>
    int to(Op op, Out& out) const {
        Operand target = operand(op, out, Access::write, Hold::call);
        return run_on(op, nullptr, true, &target);
    }
    template <class Out>
    Work to_async(const Op& op, Out& out) const {
        return start(op, std::nullopt, operand(op, out, Access::write, Hold::work));
    }

    std::shared_ptr<GroupState> state_;
    Limits limits_;
};

}  // namespace trireme
