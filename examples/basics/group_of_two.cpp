// Two of the ranks work together; the others are not disturbed and need not take part.

#include <cstdio>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    if (world.size() < 4) return 0;

    // World ranks in the order of their ranks in the group: world rank 3 is its rank 0.
    const auto pair = world.group({3, 1}, "pair");
    if (!pair.is_member()) {
        std::printf("rank %d is no member\n", world.rank());
        return 0;
    }

    int sum = world.rank();
    pair.all_reduce(sum);
    std::printf("rank %d is rank %d of %d in group \"%s\": sum %d\n", world.rank(), pair.rank(),
                pair.size(), pair.name().c_str(), sum);
}

/* Prints, in any order of lines:
rank 0 is no member
rank 1 is rank 1 of 2 in group "pair": sum 4
rank 2 is no member
rank 3 is rank 0 of 2 in group "pair": sum 4
*/
