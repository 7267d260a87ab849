#include "algorithm/algorithms.h"
#include "algorithm/schedule/ring.h"

namespace trireme::algorithm {

// Each rank's block travels once around the ring, straight from output to output.
Task all_gather_ring(Call& call) {
    const schedule::Ring ring{call.rank(), call.size()};
    call.copy(call.in(), call.out_block(call.rank()));
    for (int step = 0; step < ring.steps(); ++step) {
        const schedule::Ring::Step move = ring.all_gather(step);
        Send send(call, ring.next(), step, call.out_block(move.send));
        Receive receive(call, ring.previous(), step, call.out_block(move.receive));
        co_await receive;
        co_await send;
    }
}

}  // namespace trireme::algorithm
