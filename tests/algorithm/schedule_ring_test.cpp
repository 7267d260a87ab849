#include "algorithm/schedule/ring.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(Ring{0, 4}.next() == 1 && Ring{0, 4}.previous() == 3);
static_assert(Ring{0, 1}.next() == 0 && Ring{0, 1}.steps() == 0);

/// A block on its way: its number and what is in it.
using Parcel = std::pair<int, Contributions>;

/// data[rank][block]
using Blocks = std::vector<std::vector<Contributions>>;

Blocks own_contributions(int size) {
    Blocks data(size, std::vector<Contributions>(size));
    for (int rank = 0; rank < size; ++rank) {
        for (int block = 0; block < size; ++block) data[rank][block] = only(rank, size);
    }
    return data;
}

/// Runs one step of all ranks and hands each received block to `arrive(rank, block, contents)`.
template <class Choose, class Arrive>
void run_step(int size, const Blocks& data, Choose choose, Arrive arrive) {
    Step<Parcel> network;
    for (int rank = 0; rank < size; ++rank) {
        const Ring ring{rank, size};
        const Ring::Step step = choose(ring);
        ASSERT_NE(step.send, step.receive);
        network.send(rank, ring.next(), {step.send, data[rank][step.send]});
    }
    for (int rank = 0; rank < size; ++rank) {
        const Ring ring{rank, size};
        const auto parcel = network.receive(ring.previous(), rank);
        ASSERT_TRUE(parcel);
        ASSERT_EQ(parcel->first, choose(ring).receive) << "rank " << rank << " expects another";
        arrive(rank, parcel->first, parcel->second);
    }
}

void reduce_scatter(int size, Blocks& data) {
    for (int step = 0; step < Ring{0, size}.steps(); ++step) {
        run_step(
            size, data, [&](const Ring& ring) { return ring.reduce_scatter(step); },
            [&](int rank, int block, const Contributions& contents) {
                add(data[rank][block], contents);
            });
    }
}

void all_gather(int size, Blocks& data) {
    for (int step = 0; step < Ring{0, size}.steps(); ++step) {
        run_step(
            size, data, [&](const Ring& ring) { return ring.all_gather(step); },
            [&](int rank, int block, const Contributions& contents) {
                data[rank][block] = contents;
            });
    }
}

TEST(Ring, reduce_scatter_leaves_each_rank_its_own_block_complete) {
    for (int size = 1; size <= largest_size; ++size) {
        Blocks data = own_contributions(size);
        reduce_scatter(size, data);
        for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(data[rank][rank], each_once(size)) << "rank " << rank << " of " << size;
        }
    }
}

TEST(Ring, all_gather_brings_every_block_from_its_owner_to_everyone) {
    for (int size = 1; size <= largest_size; ++size) {
        const Contributions nothing(size, 0);
        Blocks data(size, std::vector<Contributions>(size, nothing));
        for (int rank = 0; rank < size; ++rank) data[rank][rank] = only(rank, size);
        all_gather(size, data);
        for (int rank = 0; rank < size; ++rank) {
            for (int block = 0; block < size; ++block) {
                ASSERT_EQ(data[rank][block], only(block, size))
                    << "rank " << rank << " of " << size;
            }
        }
    }
}

TEST(Ring, both_halves_are_an_all_reduce) {
    for (int size = 1; size <= largest_size; ++size) {
        Blocks data = own_contributions(size);
        reduce_scatter(size, data);
        all_gather(size, data);
        for (int rank = 0; rank < size; ++rank) {
            for (int block = 0; block < size; ++block) {
                ASSERT_EQ(data[rank][block], each_once(size)) << "rank " << rank << " of " << size;
            }
        }
    }
}

}  // namespace
}  // namespace trireme::schedule
