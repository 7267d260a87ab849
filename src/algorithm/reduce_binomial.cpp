#include "algorithm/algorithms.h"
#include "algorithm/schedule/binomial_tree.h"

namespace trireme::algorithm {

// Up the binomial tree, the nearest child first: each rank adds its children's partial results to
// its own data and hands the sum to its parent. Partial sums live in working memory, since only the
// root's buffer may change, and even that only once the result is complete.
Task reduce_binomial(Call& call) {
    const schedule::BinomialTree tree{call.rank(), call.size(), call.peer()};
    const BlockPool::Block memory = call.working_memory(call.in().bytes());
    const Buffer partial = Call::like(call.in(), memory);
    Buffer local = call.in();
    for (int i = tree.child_count() - 1; i >= 0; --i) {
        ReceiveReduce receive(call, tree.child(i), 0, local, partial);
        co_await receive;
        local = partial;
    }
    if (tree.is_root()) {
        call.copy(local, call.out());
        call.conclude(call.out());
    } else {
        Send send(call, tree.parent(), 0, local);
        co_await send;
    }
}

}  // namespace trireme::algorithm
