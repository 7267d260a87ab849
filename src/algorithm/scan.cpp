#include "algorithm/algorithms.h"
#include "algorithm/chain.h"

namespace trireme::algorithm {

namespace {

bool is_exclusive(const Call& call) { return call.op().kind == OpKind::exclusive_scan; }

// Hands out a part of the result; avg is of the ranks whose values are in it. Of an exclusive scan
// the first rank's output stays as it is.
void give(const Call& call, const Buffer& folded, const Buffer& below, const Buffer& out) {
    const int ranks = is_exclusive(call) ? call.rank() : call.rank() + 1;
    if (ranks == 0) return;
    call.copy(is_exclusive(call) ? below : folded, out);
    call.conclude(out, ranks);
}

}  // namespace

// From rank to rank, in pieces: each gets the fold of all before it, and hands it on with its own
// values. Exactly the left fold in rank order.
Task scan_chain(Call& call) {
    const std::size_t width = size_of(call.dtype());
    const schedule::Partition pieces = chain_pieces(call.in());
    const BlockPool::Block before_memory = call.working_memory(pieces.largest() * width);
    const BlockPool::Block sum_memory = call.working_memory(pieces.largest() * width);
    for (int piece = 0; piece < static_cast<int>(pieces.parts); ++piece) {
        const Buffer own = call.in().slice(pieces.offset(piece), pieces.size(piece));
        const Buffer out = call.out().slice(pieces.offset(piece), pieces.size(piece));
        const Buffer before = Call::like(own, before_memory);
        const Buffer folded = Call::like(own, sum_memory);
        if (call.rank() > 0) {
            Receive receive(call, call.rank() - 1, piece, before);
            co_await receive;
            call.reduce(before, own, folded);
        } else {
            call.copy(own, folded);
        }
        give(call, folded, before, out);
        if (call.rank() + 1 < call.size()) {
            Send send(call, call.rank() + 1, piece, folded);
            co_await send;
        }
    }
}

// In log2(n) rounds (Hillis and Steele): in round k every rank hands what it has, the fold over
// itself and the 2^k - 1 ranks before, to the rank 2^k places on, which puts it before its own.
// What came is also put before the fold of the ranks below, which an exclusive scan gives.
Task scan_doubling(Call& call) {
    const std::size_t bytes = call.in().bytes();
    const BlockPool::Block memories[4] = {call.working_memory(bytes), call.working_memory(bytes),
                                          call.working_memory(bytes), call.working_memory(bytes)};
    const Buffer arrived = Call::like(call.in(), memories[2]);
    const Buffer below = Call::like(call.in(), memories[3]);
    bool below_is_empty = true;
    Buffer folded = call.in();
    int next = 0;
    for (int distance = 1; distance < call.size(); distance *= 2) {
        const bool sends = call.rank() + distance < call.size();
        const bool receives = call.rank() >= distance;
        if (sends && receives) {
            Send send(call, call.rank() + distance, distance, folded);
            Receive receive(call, call.rank() - distance, distance, arrived);
            co_await receive;
            co_await send;
        } else if (sends) {
            Send send(call, call.rank() + distance, distance, folded);
            co_await send;
        } else if (receives) {
            Receive receive(call, call.rank() - distance, distance, arrived);
            co_await receive;
        }
        if (!receives) continue;
        const Buffer target = Call::like(call.in(), memories[next]);
        call.reduce(arrived, folded, target);
        folded = target;
        next = 1 - next;
        if (below_is_empty)
            call.copy(arrived, below);
        else
            call.reduce(arrived, below, below);
        below_is_empty = false;
    }
    give(call, folded, below, call.out());
}

}  // namespace trireme::algorithm
