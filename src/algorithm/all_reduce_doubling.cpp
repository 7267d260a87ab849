#include "algorithm/algorithms.h"
#include "algorithm/schedule/recursive_doubling.h"

namespace trireme::algorithm {

// Recursive doubling: in each round two partners swap their partial results and both reduce, so
// that after log2(n) rounds everyone has everything. Ranks above a power of two fold into a
// neighbour first and get the result from it last. Both partners of a round compute the same bits.
//
// A partner may be a round ahead: what it sends next must not meet a buffer that is still being
// sent, so partial results alternate between two halves of the working memory.
Task all_reduce_doubling(Call& call) {
    const schedule::RecursiveDoubling plan{call.rank(), call.size()};
    const int fold = 0;
    const int unfold = plan.rounds() + 1;
    if (plan.is_folded()) {
        Send send(call, plan.fold_partner(), fold, call.in());
        co_await send;
        Receive receive(call, plan.fold_partner(), unfold, call.out());
        co_await receive;
        co_return;
    }

    const BlockPool::Block memories[2] = {call.working_memory(call.in().bytes()),
                                          call.working_memory(call.in().bytes())};
    Buffer local = call.in();
    int next = 0;
    if (plan.is_host()) {
        const Buffer target = Call::like(call.in(), memories[next]);
        ReceiveReduce receive(call, plan.fold_partner(), fold, local, target);
        co_await receive;
        local = target;
        next = 1 - next;
    }
    for (int round = 0; round < plan.rounds(); ++round) {
        const Buffer target = Call::like(call.in(), memories[next]);
        Send send(call, plan.partner(round), 1 + round, local);
        ReceiveReduce receive(call, plan.partner(round), 1 + round, local, target);
        co_await receive;
        co_await send;
        local = target;
        next = 1 - next;
    }
    call.copy(local, call.out());
    call.conclude(call.out());
    if (plan.is_host()) {
        Send send(call, plan.fold_partner(), unfold, call.out());
        co_await send;
    }
}

}  // namespace trireme::algorithm
