#include "algorithm/algorithms.h"
#include "algorithm/schedule/dissemination.h"

namespace trireme::algorithm {

// In round k everyone tells the rank 2^k places on, and hears from the rank 2^k places back, that
// the 2^k ranks before it have come. After log2(n) rounds that is all of them.
Task barrier_dissemination(Call& call) {
    const schedule::Dissemination plan{call.rank(), call.size()};
    for (int round = 0; round < plan.rounds(); ++round) {
        Send send(call, plan.send_to(round), round, {});
        Receive receive(call, plan.receive_from(round), round, {});
        co_await receive;
        co_await send;
    }
}

}  // namespace trireme::algorithm
