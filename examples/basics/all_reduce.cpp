// Every rank gets the sum of all ranks' data; then their largest values, by an operation that runs
// while the rank does something else.

#include <cstdio>
#include <vector>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    const auto group = world.group();

    const auto rank = static_cast<float>(world.rank());
    std::vector<float> data = {rank, 10 * rank, 1};
    group.all_reduce(data);
    std::printf("rank %d: sum %g %g %g\n", world.rank(), data[0], data[1], data[2]);

    float largest = rank * rank;
    auto work = group.all_reduce_async(largest, trireme::max);
    // Other work goes here; `largest` must not be touched until the operation has ended.
    work.wait();
    std::printf("rank %d: max %g\n", world.rank(), largest);
}

/* Prints, in any order of lines:
rank 0: sum 6 60 4
rank 1: sum 6 60 4
rank 2: sum 6 60 4
rank 3: sum 6 60 4
rank 0: max 9
rank 1: max 9
rank 2: max 9
rank 3: max 9
*/
