// Each even rank sends two messages to the odd rank above it. The tags tell them apart, so that the
// receiver may take them in another order than they were sent.

#include <array>
#include <cstdio>

#include "trireme/trireme.h"

using trireme::Peer;
using trireme::Tag;

int main() {
    const auto world = trireme::World::from_env();
    const auto group = world.group();
    const int rank = world.rank();
    constexpr Tag size_tag{1};
    constexpr Tag data_tag{2};

    if (rank % 2 == 0) {
        if (rank + 1 == world.size()) return 0;  // an odd number of ranks: nobody is above
        const std::array<int, 3> data = {rank, rank + 10, rank + 20};
        group.send(data, Peer{rank + 1}, data_tag);
        group.send(static_cast<int>(data.size()), Peer{rank + 1}, size_tag);
    } else {
        int size = 0;
        std::array<int, 3> data{};
        group.recv(size, Peer{rank - 1}, size_tag);
        group.recv(data, Peer{rank - 1}, data_tag);
        std::printf("rank %d got %d numbers from rank %d: %d %d %d\n", rank, size, rank - 1,
                    data[0], data[1], data[2]);
    }
}

/* Prints, in any order of lines:
rank 1 got 3 numbers from rank 0: 0 10 20
rank 3 got 3 numbers from rank 2: 2 12 22
*/
