#include "algorithm/algorithms.h"
#include "algorithm/schedule/partition.h"
#include "algorithm/schedule/ring.h"

namespace trireme::algorithm {

namespace {

Buffer part(const Buffer& whole, const schedule::Partition& partition, int index) noexcept {
    return whole.slice(partition.offset(index), partition.size(index));
}

}  // namespace

// The ring: a reduce-scatter, in which each block travels once around and every rank adds its part,
// then an all-gather, in which the finished blocks travel once around. Each rank sends 2(n-1)/n of
// the data, the least possible.
//
// Sums under way live in working memory: a block that arrives is reduced with this rank's input
// into one half of it, while the block before goes out from the other half. The user's output
// receives finished values only.
Task all_reduce_ring(Call& call) {
    const schedule::Ring ring{call.rank(), call.size()};
    const schedule::Partition blocks{call.in().count, call.size()};
    const std::size_t largest = blocks.largest() * size_of(call.in().dtype);
    const BlockPool::Block memories[2] = {call.working_memory(largest),
                                          call.working_memory(largest)};

    Buffer outgoing = part(call.in(), blocks, ring.reduce_scatter(0).send);
    for (int step = 0; step < ring.steps(); ++step) {
        const Buffer own = part(call.in(), blocks, ring.reduce_scatter(step).receive);
        const bool last = step == ring.steps() - 1;
        const Buffer target =
            last ? part(call.out(), blocks, call.rank()) : Call::like(own, memories[step % 2]);
        Send send(call, ring.next(), step, outgoing);
        ReceiveReduce receive(call, ring.previous(), step, own, target);
        co_await receive;
        co_await send;
        outgoing = target;
    }
    call.conclude(part(call.out(), blocks, call.rank()));

    for (int step = 0; step < ring.steps(); ++step) {
        const schedule::Ring::Step move = ring.all_gather(step);
        Send send(call, ring.next(), ring.steps() + step, part(call.out(), blocks, move.send));
        Receive receive(call, ring.previous(), ring.steps() + step,
                        part(call.out(), blocks, move.receive));
        co_await receive;
        co_await send;
    }
}

}  // namespace trireme::algorithm
