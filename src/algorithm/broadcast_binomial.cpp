#include "algorithm/algorithms.h"
#include "algorithm/schedule/binomial_tree.h"

namespace trireme::algorithm {

// Down the binomial tree: everyone who has the data sends it on, the deepest subtree first.
Task broadcast_binomial(Call& call) {
    const schedule::BinomialTree tree{call.rank(), call.size(), call.peer()};
    if (!tree.is_root()) {
        Receive receive(call, tree.parent(), 0, call.out());
        co_await receive;
    }
    for (int i = 0; i < tree.child_count(); ++i) {
        Send send(call, tree.child(i), 0, call.out());
        co_await send;
    }
}

}  // namespace trireme::algorithm
