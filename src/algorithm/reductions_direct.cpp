#include "algorithm/algorithms.h"
#include "algorithm/direct.h"
#include "algorithm/schedule/partition.h"

// Reductions through the peers' memory: each rank owns one slice. It reads that slice of
// everybody's input, folds it in rank order, and writes the result where it belongs. Reading and
// writing both go straight from and to the users' buffers, so the data crosses no staging memory.
// In place works because nobody but its owner touches a slice.

namespace trireme::algorithm {

namespace {

DirectAccess::Shown show_all(const Call& call, int) {
    const bool gets = call.op().kind == OpKind::all_reduce || call.rank() == call.peer();
    return {call.in(), gets ? &call.out() : nullptr};
}

DirectAccess::Shown show_block(const Call& call, int rank) { return {call.in_block(rank)}; }

// Of the peer's reads and writes nothing else tells than what this rank knows of them.
void count(const Call& call, int rank, std::size_t sent, std::size_t received) noexcept {
    call.link(rank).traffic().count_sent(sent);
    call.link(rank).traffic().count_received(received);
}

Task reduce_slices(Call& call, Receivers receivers) {
    DirectAccess access(call);
    co_await access.meet(show_all);

    const Buffer& in = call.in();
    const std::size_t width = size_of(in.dtype);
    const schedule::Partition slices{in.count, call.size(), BlockPool::alignment / width};
    const std::size_t first = slices.offset(call.rank());
    const Buffer own = in.slice(first, slices.size(call.rank()));
    const bool keeps = receives(call, receivers, call.rank());
    const Buffer target = keeps ? call.out().slice(first, own.count) : Buffer{};
    const int unreachable = fold_direct(call, access, first * width, own, target, receivers);
    if (unreachable >= 0) {
        co_await access.explain(unreachable);
    }

    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        const std::size_t theirs = slices.size(rank) * width;
        const bool gets = receives(call, receivers, rank);
        count(call, rank, theirs + (gets ? own.bytes() : 0), own.bytes() + (keeps ? theirs : 0));
    }
    co_await access.part();
}

}  // namespace

Task all_reduce_direct(Call& call) { return reduce_slices(call, Receivers::everybody); }

Task reduce_direct(Call& call) { return reduce_slices(call, Receivers::root); }

Task reduce_scatter_direct(Call& call) {
    DirectAccess access(call);
    co_await access.meet(show_block);
    const Buffer own = call.in_block(call.rank());
    for (int rank = 0; rank < call.size(); ++rank)
        if (rank != call.rank()) access.refuse_other_length(rank, own);
    const int unreachable = fold_direct(call, access, 0, own, call.out(), Receivers::nobody);
    if (unreachable >= 0) {
        co_await access.explain(unreachable);
    }
    for (int rank = 0; rank < call.size(); ++rank)
        if (rank != call.rank()) count(call, rank, call.in_block(rank).bytes(), own.bytes());
    co_await access.part();
}

}  // namespace trireme::algorithm
