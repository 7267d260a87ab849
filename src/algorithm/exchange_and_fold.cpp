#include "algorithm/algorithms.h"
#include "algorithm/rank_order.h"
#include "algorithm/schedule/pairwise.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

// The contributions come from all ranks at once and are kept until the fold reaches them: working
// memory for one of each rank. What the fold needs first is not what comes first.
Task exchange_and_fold(Call& call, std::span<const Buffer> parts, const Buffer& target) {
    const schedule::Pairwise plan{call.rank(), call.size()};
    const auto ranks = static_cast<std::size_t>(call.size());
    const BlockPool::Block memory = call.working_memory(target.bytes() * ranks);
    const auto arrived = [&](int rank) -> Buffer {
        if (rank == call.rank()) return parts[static_cast<std::size_t>(rank)];
        return {memory.data() + target.bytes() * static_cast<std::size_t>(rank), target.count,
                target.dtype, target.device};
    };
    PooledVector<Receive> receives(call.pool(), ranks);
    for (int step = 1; step <= plan.last_step(); ++step) {
        const int from = plan.receive_from(step);
        receives.emplace_back(call, from, step, arrived(from));
    }
    for (int step = 1; step <= plan.last_step(); ++step) {
        const int to = plan.send_to(step);
        Send send(call, to, step, parts[static_cast<std::size_t>(to)]);
        co_await send;
    }
    for (Receive& receive : receives) {
        co_await receive;
    }

    if (call.size() == 1) call.copy(parts.front(), target);
    // The place of this rank's own contribution is free for the fold under way; only the end of it
    // goes to the target.
    const Buffer partial = {memory.data() + target.bytes() * static_cast<std::size_t>(call.rank()),
                            target.count, target.dtype, target.device};
    Buffer folded = arrived(0);
    for (int rank = 1; rank < call.size(); ++rank) {
        const Buffer& into = rank + 1 == call.size() ? target : partial;
        call.reduce(folded, arrived(rank), into);
        folded = into;
    }
}

}  // namespace trireme::algorithm
