#include <algorithm>

#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// In round k everybody sends all that it has, 2^k blocks at most, to the rank 2^k places back and
// gets as much from the rank 2^k places on (Bruck): log2(n) rounds for any n. The blocks lie in
// working memory from this rank's own on, and are put in order at the end.
Task all_gather_bruck(Call& call) {
    const int ranks = call.size();
    const std::size_t bytes = call.in().bytes();
    const BlockPool::Block memory = call.working_memory(bytes * static_cast<std::size_t>(ranks));
    const auto blocks = [&](int first, int count) -> Buffer {
        return {memory.data() + bytes * static_cast<std::size_t>(first),
                call.in().count * static_cast<std::size_t>(count), call.in().dtype,
                call.in().device};
    };
    call.copy(call.in(), blocks(0, 1));
    for (int have = 1; have < ranks; have *= 2) {
        const int count = std::min(have, ranks - have);
        Send send(call, (call.rank() - have + ranks) % ranks, have, blocks(0, count));
        Receive receive(call, (call.rank() + have) % ranks, have, blocks(have, count));
        co_await receive;
        co_await send;
    }
    for (int i = 0; i < ranks; ++i)
        call.copy(blocks(i, 1), call.out_block((call.rank() + i) % ranks));
}

}  // namespace trireme::algorithm
