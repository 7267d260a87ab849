#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// Everyone sends to the root, which takes the blocks in rank order; large ones wait at their
// senders until their turn has come.
Task gather_linear(Call& call) {
    if (call.rank() != call.peer()) {
        Send send(call, call.peer(), 0, call.in());
        co_await send;
        co_return;
    }
    call.copy(call.in(), call.out_block(call.rank()));
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        Receive receive(call, rank, 0, call.out_block(rank));
        co_await receive;
    }
}

}  // namespace trireme::algorithm
