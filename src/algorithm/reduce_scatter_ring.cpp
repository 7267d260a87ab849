#include <algorithm>

#include "algorithm/algorithms.h"
#include "algorithm/schedule/ring.h"

namespace trireme::algorithm {

// The first half of the ring all-reduce: block b travels once around and arrives, complete, at
// rank b. Sums under way live in two alternating halves of the working memory.
Task reduce_scatter_ring(Call& call) {
    const schedule::Ring ring{call.rank(), call.size()};
    // Every part passes through, not only this rank's own: they may be longer.
    std::size_t bytes = 0;
    for (int rank = 0; rank < call.size(); ++rank)
        bytes = std::max(bytes, call.in_block(rank).bytes());
    const BlockPool::Block memories[2] = {call.working_memory(bytes), call.working_memory(bytes)};

    Buffer outgoing = call.in_block(ring.reduce_scatter(0).send);
    for (int step = 0; step < ring.steps(); ++step) {
        const Buffer own = call.in_block(ring.reduce_scatter(step).receive);
        const bool last = step == ring.steps() - 1;
        const Buffer target = last ? call.out() : Call::like(own, memories[step % 2]);
        Send send(call, ring.next(), step, outgoing);
        ReceiveReduce receive(call, ring.previous(), step, own, target);
        co_await receive;
        co_await send;
        outgoing = target;
    }
    call.conclude(call.out());
}

}  // namespace trireme::algorithm
