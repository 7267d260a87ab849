// Rank 0 sends each other rank a tensor of another shape and dtype, which the receiver does not
// know beforehand.

#include <torch/torch.h>

#include <cstdio>

#include "trireme/torch.h"
#include "trireme/trireme.h"

using trireme::Peer;

int main() {
    const auto world = trireme::World::from_env();
    const auto group = world.group();

    if (world.rank() == 0) {
        for (int peer = 1; peer < world.size(); ++peer) {
            const auto dtype = peer == 2 ? torch::kInt64 : torch::kFloat32;
            group.send_tensor(torch::ones({peer, 2}, dtype), Peer{peer});
        }
        return 0;
    }

    const at::Tensor tensor = group.recv_tensor(Peer{0});
    std::printf("rank %d got %d x %d elements of %s, sum %g\n", world.rank(),
                static_cast<int>(tensor.size(0)), static_cast<int>(tensor.size(1)),
                c10::toString(tensor.scalar_type()), tensor.sum().item<double>());
}

/* Prints, in any order of lines:
rank 1 got 1 x 2 elements of Float, sum 2
rank 2 got 2 x 2 elements of Long, sum 4
rank 3 got 3 x 2 elements of Float, sum 6
*/
