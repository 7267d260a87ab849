// One rank, the root, has the data; afterwards all have.

#include <cstdio>
#include <vector>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    constexpr trireme::Root root{2};

    // Not a receiver's choice: the count must be the same on every rank.
    std::vector<double> weights(3);
    if (world.rank() == root.rank) weights = {0.5, 0.25, 0.125};
    world.group().broadcast(weights, root);

    std::printf("rank %d: %g %g %g\n", world.rank(), weights[0], weights[1], weights[2]);
}

/* Prints, in any order of lines:
rank 0: 0.5 0.25 0.125
rank 1: 0.5 0.25 0.125
rank 2: 0.5 0.25 0.125
rank 3: 0.5 0.25 0.125
*/
