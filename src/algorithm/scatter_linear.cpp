#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// The root sends every rank its block, in rank order.
Task scatter_linear(Call& call) {
    if (call.rank() != call.peer()) {
        Receive receive(call, call.peer(), 0, call.out());
        co_await receive;
        co_return;
    }
    call.copy(call.in_block(call.rank()), call.out());
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        Send send(call, rank, 0, call.in_block(rank));
        co_await send;
    }
}

}  // namespace trireme::algorithm
