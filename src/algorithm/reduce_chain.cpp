#include "algorithm/algorithms.h"
#include "algorithm/chain.h"

namespace trireme::algorithm {

// From rank 0 to the last, each adding its values to what comes from the rank before, and from the
// last to the root: the left fold in rank order. In pieces, so that all ranks work at once. The
// root's output receives finished values only; what passes through a rank stays in working memory.
Task reduce_chain(Call& call) {
    const int last = call.size() - 1;
    const bool is_root = call.rank() == call.peer();
    const std::size_t width = size_of(call.dtype());
    const schedule::Partition pieces = chain_pieces(call.in());
    const int result = static_cast<int>(pieces.parts);  // steps of what the root gets
    const BlockPool::Block memory = call.working_memory(pieces.largest() * width);
    for (int piece = 0; piece < result; ++piece) {
        const Buffer own = call.in().slice(pieces.offset(piece), pieces.size(piece));
        const Buffer partial = Call::like(own, memory);
        // The last rank's fold is the result; where it is the root, it goes where it belongs.
        const Buffer target = call.rank() == last && is_root
                                  ? call.out().slice(pieces.offset(piece), pieces.size(piece))
                                  : partial;
        Buffer folded = own;
        if (call.rank() > 0) {
            ReceiveReduce receive(call, call.rank() - 1, piece, own, target, Order::arriving_first);
            co_await receive;
            folded = target;
        }
        if (call.rank() < last || !is_root) {
            const bool ends = call.rank() == last;
            Send send(call, ends ? call.peer() : call.rank() + 1, ends ? result + piece : piece,
                      folded);
            co_await send;
        }
        if (is_root && call.rank() < last) {
            Receive receive(call, last, result + piece,
                            call.out().slice(pieces.offset(piece), pieces.size(piece)));
            co_await receive;
        }
    }
    if (is_root) call.conclude(call.out());
}

}  // namespace trireme::algorithm
