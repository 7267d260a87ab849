#include "algorithm/algorithms.h"
#include "algorithm/schedule/partition.h"
#include "algorithm/schedule/recursive_halving.h"

namespace trireme::algorithm {

// Recursive halving, then recursive doubling (Rabenseifner): in each round of the first half two
// partners cut what they are both responsible for in two, each sends the half that it gives up and
// reduces the half that it keeps; in the second half they give one another what they have finished.
// 2 log2(n) rounds, and no rank sends more than 2 (n-1)/n of the data. Ranks above a power of two
// fold into a neighbour first and get the result from it last, as in recursive doubling.
//
// Partial sums live in working memory; the output is written in the second half, when its values
// are finished.
Task all_reduce_halving(Call& call) {
    const schedule::RecursiveHalving plan{call.rank(), call.size()};
    const int fold = 0;
    const int unfold = 2 * plan.rounds() + 1;
    if (plan.is_folded()) {
        Send send(call, plan.fold_partner(), fold, call.in());
        co_await send;
        Receive receive(call, plan.fold_partner(), unfold, call.out());
        co_await receive;
        co_return;
    }

    const BlockPool::Block memory = call.working_memory(call.in().bytes());
    const Buffer partial = Call::like(call.in(), memory);
    Buffer local = call.in();
    if (plan.is_host()) {
        ReceiveReduce receive(call, plan.fold_partner(), fold, local, partial);
        co_await receive;
        local = partial;
    }
    const schedule::Partition blocks{call.in().count, plan.seats()};
    const auto part = [&](const Buffer& whole, schedule::RecursiveHalving::Range range) {
        return whole.slice(blocks.offset(range.begin),
                           blocks.offset(range.end) - blocks.offset(range.begin));
    };
    for (int round = 0; round < plan.rounds(); ++round) {
        const auto halves = plan.halves(round);
        Send send(call, plan.partner(round), 1 + round, part(local, halves.given));
        ReceiveReduce receive(call, plan.partner(round), 1 + round, part(local, halves.kept),
                              part(partial, halves.kept));
        co_await receive;
        co_await send;
        local = partial;
    }
    const auto own = plan.own();
    call.copy(part(local, own), part(call.out(), own));
    call.conclude(part(call.out(), own));
    for (int round = plan.rounds() - 1; round >= 0; --round) {
        const auto halves = plan.halves(round);
        const int step = 1 + plan.rounds() + round;
        Send send(call, plan.partner(round), step, part(call.out(), halves.kept));
        Receive receive(call, plan.partner(round), step, part(call.out(), halves.given));
        co_await receive;
        co_await send;
    }
    if (plan.is_host()) {
        Send send(call, plan.fold_partner(), unfold, call.out());
        co_await send;
    }
}

}  // namespace trireme::algorithm
