#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// In round k every block that still has 2^k places to go, as its distance's bit k says, goes that
// far on, together with all others that do (Bruck): log2(n) messages per rank instead of n - 1,
// each block passing through up to log2(n) ranks. For small blocks of equal size.
Task all_to_all_bruck(Call& call) {
    const int ranks = call.size();
    const std::size_t count = call.in_block(0).count;
    const std::size_t bytes = call.in_block(0).bytes();
    const auto all = static_cast<std::size_t>(ranks);
    const BlockPool::Block travelling = call.working_memory(bytes * all);
    const BlockPool::Block packed[2] = {call.working_memory(bytes * all),
                                        call.working_memory(bytes * all)};
    const auto block = [&](const BlockPool::Block& memory, int first, int blocks = 1) -> Buffer {
        return {memory.data() + bytes * static_cast<std::size_t>(first),
                count * static_cast<std::size_t>(blocks), call.dtype(), call.in().device};
    };
    // By distance from this rank to where it belongs.
    for (int distance = 0; distance < ranks; ++distance)
        call.copy(call.in_block((call.rank() + distance) % ranks), block(travelling, distance));
    for (int step = 1; step < ranks; step *= 2) {
        int moving = 0;
        for (int distance = step; distance < ranks; ++distance)
            if ((distance & step) != 0)
                call.copy(block(travelling, distance), block(packed[0], moving++));
        Send send(call, (call.rank() + step) % ranks, step, block(packed[0], 0, moving));
        Receive receive(call, (call.rank() - step + ranks) % ranks, step,
                        block(packed[1], 0, moving));
        co_await receive;
        co_await send;
        moving = 0;
        for (int distance = step; distance < ranks; ++distance)
            if ((distance & step) != 0)
                call.copy(block(packed[1], moving++), block(travelling, distance));
    }
    // What was to go `distance` places on has come from as many places back.
    for (int distance = 0; distance < ranks; ++distance)
        call.copy(block(travelling, distance),
                  call.out_block((call.rank() - distance + ranks) % ranks));
}

}  // namespace trireme::algorithm
