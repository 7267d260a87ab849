#include "algorithm/algorithms.h"
#include "algorithm/chain.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

// From rank 0 to the last, each adding its values to what comes from the rank before, and from the
// last to the root: the left fold in rank order. In pieces, so that all ranks work at once. The
// root's output receives finished values only; what passes through a rank stays in working memory.
Task reduce_chain(Call& call) {
    const int last = call.size() - 1;
    const bool is_last = call.rank() == last;
    const bool is_root = call.rank() == call.peer();
    const schedule::Partition pieces = chain_pieces(call.in());
    const int count = static_cast<int>(pieces.parts);
    const auto part = [&](const Buffer& whole, int piece) {
        return whole.slice(pieces.offset(piece), pieces.size(piece));
    };
    // The root of a chain that ends elsewhere goes on with the next piece before the result of this
    // one has come. Steps from `count` on are those of the results. A root in place may get one
    // only once its own values have gone.
    PooledVector<Receive> results(call.pool(), static_cast<std::size_t>(count));
    const BlockPool::Block memory = call.working_memory(pieces.largest() * size_of(call.dtype()));
    for (int piece = 0; piece < count; ++piece) {
        const Buffer own = part(call.in(), piece);
        const Buffer target =
            is_last && is_root ? part(call.out(), piece) : Call::like(own, memory);
        Buffer folded = own;
        if (call.rank() > 0) {
            ReceiveReduce receive(call, call.rank() - 1, piece, own, target, Order::arriving_first);
            co_await receive;
            folded = target;
        } else if (is_last) {
            call.copy(own, target);
        }
        if (!is_last || !is_root) {
            Send send(call, is_last ? call.peer() : call.rank() + 1,
                      is_last ? count + piece : piece, folded);
            co_await send;
        }
        if (is_root && !is_last)
            results.emplace_back(call, last, count + piece, part(call.out(), piece));
    }
    for (Receive& result : results) {
        co_await result;
    }
    if (is_root) call.conclude(call.out());
}

}  // namespace trireme::algorithm
