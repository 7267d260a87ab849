#include "algorithm/schedule/pairwise.h"

#include <gtest/gtest.h>

#include <vector>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(Pairwise{0, 1}.last_step() == 0);
static_assert(Pairwise{3, 4}.send_to(2) == 1 && Pairwise{1, 4}.receive_from(2) == 3);

/// The block that one rank has for another.
struct Block {
    int from;
    int to;
};

TEST(Pairwise, everyone_meets_everyone_else_once) {
    for (int size = 1; size <= largest_size; ++size) {
        std::vector<Contributions> received;
        for (int rank = 0; rank < size; ++rank) received.push_back(only(rank, size));
        for (int step = 1; step <= Pairwise{0, size}.last_step(); ++step) {
            Step<Block> network;
            for (int rank = 0; rank < size; ++rank) {
                const int to = Pairwise{rank, size}.send_to(step);
                network.send(rank, to, {rank, to});
            }
            for (int rank = 0; rank < size; ++rank) {
                const int from = Pairwise{rank, size}.receive_from(step);
                const auto block = network.receive(from, rank);
                ASSERT_TRUE(block);
                ASSERT_EQ(block->from, from);
                ASSERT_EQ(block->to, rank);
                ++received[rank][block->from];
            }
        }
        for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(received[rank], each_once(size)) << "rank " << rank << " of " << size;
        }
    }
}

}  // namespace
}  // namespace trireme::schedule
