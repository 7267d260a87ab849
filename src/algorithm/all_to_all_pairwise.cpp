#include "algorithm/algorithms.h"
#include "algorithm/schedule/pairwise.h"

namespace trireme::algorithm {

// In step s everyone sends to the rank s places on and receives from the rank s places back.
Task all_to_all_pairwise(Call& call) {
    const schedule::Pairwise plan{call.rank(), call.size()};
    call.copy(call.in_block(call.rank()), call.out_block(call.rank()));
    for (int step = 1; step <= plan.last_step(); ++step) {
        Send send(call, plan.send_to(step), step, call.in_block(plan.send_to(step)));
        Receive receive(call, plan.receive_from(step), step,
                        call.out_block(plan.receive_from(step)));
        co_await receive;
        co_await send;
    }
}

}  // namespace trireme::algorithm
