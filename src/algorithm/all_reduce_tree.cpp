#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// Up a binomial tree to rank 0, and down again: 2 log2(n) steps with the whole data, each of which
// only some ranks take part in. The output of rank 0 receives the finished sum, and only that goes
// down.
Task all_reduce_tree(Call& call) {
    Op up = call.op();
    up.kind = OpKind::reduce;
    up.peer = 0;
    Call reducing(call, up, {}, 1);
    co_await reduce_binomial(reducing);

    Op down = call.op();
    down.kind = OpKind::broadcast;
    down.peer = 0;
    down.in = down.out;
    Call sending(call, down, {}, 2);
    co_await broadcast_binomial(sending);
}

}  // namespace trireme::algorithm
