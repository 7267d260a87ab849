// Every rank contributes two numbers and gets those of all ranks, in the order of the ranks.

#include <array>
#include <cstdio>
#include <vector>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    const int rank = world.rank();

    const std::array<int, 2> own = {rank, rank * rank};
    std::vector<int> all(own.size() * static_cast<std::size_t>(world.size()));
    world.group().all_gather(own, all);

    std::printf("rank %d:", rank);
    for (const int number : all) std::printf(" %d", number);
    std::printf("\n");
}

/* Prints, in any order of lines:
rank 0: 0 0 1 1 2 4 3 9
rank 1: 0 0 1 1 2 4 3 9
rank 2: 0 0 1 1 2 4 3 9
rank 3: 0 0 1 1 2 4 3 9
*/
