// Steps and bytes of algorithms whose theory is known, as the simulation counts them.

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>

#include "core/op_info.h"
#include "link/envelope.h"
#include "sim/optimum.h"
#include "simulations.h"

namespace trireme {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;

int log2_up(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }

// Short enough to travel with their envelopes, and so long that each is offered first.
constexpr std::size_t sizes[] = {4 * KiB, 4 * MiB};

TEST(SimulatedSteps, RingTakesTwoRoundsAndSendsTheLeastPossible) {
    for (const int ranks : {2, 3, 8, 64, 100, 256}) {
        for (const int hosts : {1, 4}) {
            const std::size_t bytes = static_cast<std::size_t>(ranks) * KiB;
            const auto result = run_phantom(OpKind::all_reduce, "ring", ranks, bytes, hosts);
            EXPECT_EQ(result.steps, 2 * (ranks - 1)) << ranks << " ranks on " << hosts << " hosts";
            EXPECT_EQ(result.most_bytes, bytes / ranks * 2 * (ranks - 1));
            EXPECT_EQ(static_cast<double>(result.most_bytes),
                      optimum(OpKind::all_reduce, ranks, bytes).bytes);
            EXPECT_EQ(result.most_messages, 2 * (ranks - 1));
        }
    }
}

TEST(SimulatedSteps, RingOf1024) {
    const std::size_t bytes = 1024 * KiB;
    const auto result = run_phantom(OpKind::all_reduce, "ring", 1024, bytes, 8);
    EXPECT_EQ(result.steps, 2046);
    EXPECT_EQ(result.most_bytes, 2046 * KiB);
}

TEST(SimulatedSteps, RingHalves) {
    for (const int ranks : {2, 5, 64, 200}) {
        const std::size_t bytes = static_cast<std::size_t>(ranks) * 64 * KiB;
        for (const OpKind kind : {OpKind::all_gather, OpKind::reduce_scatter}) {
            const auto result = run_phantom(kind, "ring", ranks, bytes, 2);
            EXPECT_EQ(result.steps, ranks - 1);
            EXPECT_EQ(result.most_bytes, bytes - bytes / ranks);
        }
    }
}

TEST(SimulatedSteps, DoublingAndHalving) {
    for (const std::size_t bytes : sizes) {
        for (int ranks = 2; ranks <= 1024; ranks *= 2) {
            const auto doubling = run_phantom(OpKind::all_reduce, "doubling", ranks, bytes, 4);
            EXPECT_EQ(doubling.steps, log2_up(ranks)) << ranks;
            EXPECT_EQ(doubling.most_bytes, bytes * log2_up(ranks));
            const auto halving = run_phantom(OpKind::all_reduce, "halving", ranks, bytes, 4);
            EXPECT_EQ(halving.steps, 2 * log2_up(ranks)) << ranks;
            EXPECT_EQ(halving.most_bytes, 2 * (bytes - bytes / ranks));
        }
    }
}

// Ranks above a power of two fold in before the rounds, and get the result after them. What was
// folded in is one step late at the seat whose number differs in all bits; where that one has to
// hand the result to a folded rank, the chain is one longer.
TEST(SimulatedSteps, DoublingOfOtherNumbers) {
    for (const int ranks : {3, 6, 100, 1000}) {
        const int rounds = std::bit_width(static_cast<unsigned>(ranks)) - 1;
        const int surplus = ranks - (1 << rounds);
        const int late = 2 * surplus > (1 << rounds) ? 2 : 1;
        for (const std::size_t bytes : sizes) {
            EXPECT_EQ(run_phantom(OpKind::all_reduce, "doubling", ranks, bytes).steps,
                      rounds + late);
            EXPECT_EQ(run_phantom(OpKind::all_reduce, "halving", ranks, bytes).steps,
                      2 * rounds + 2);
        }
    }
}

TEST(SimulatedSteps, BinomialTrees) {
    for (const std::size_t bytes : sizes) {
        for (int ranks = 2; ranks <= 1024; ranks *= 2) {
            const int rounds = log2_up(ranks);
            const auto down = run_phantom(OpKind::broadcast, "binomial", ranks, bytes);
            EXPECT_EQ(down.steps, rounds);
            EXPECT_EQ(down.most_bytes, bytes * rounds);
            const auto up = run_phantom(OpKind::reduce, "binomial", ranks, bytes);
            EXPECT_EQ(up.steps, rounds);
            EXPECT_EQ(up.most_bytes, bytes);
            EXPECT_EQ(run_phantom(OpKind::all_reduce, "tree", ranks, bytes).steps, 2 * rounds);
        }
    }
}

TEST(SimulatedSteps, DisseminationAndBruck) {
    for (const int ranks : {2, 3, 7, 64, 100, 1024}) {
        const int rounds = log2_up(ranks);
        const auto barrier = run_phantom(OpKind::barrier, "dissemination", ranks, 0, 4);
        EXPECT_EQ(barrier.steps, rounds) << ranks;
        EXPECT_EQ(barrier.most_bytes, 0U);
        EXPECT_EQ(barrier.most_messages, rounds);
        for (const std::size_t block : {std::size_t{8}, 4 * KiB}) {
            const std::size_t bytes = block * static_cast<std::size_t>(ranks);
            const auto gather = run_phantom(OpKind::all_gather, "bruck", ranks, bytes, 4);
            EXPECT_EQ(gather.steps, rounds) << ranks;
            EXPECT_EQ(gather.most_bytes, bytes - block);
            if (ranks < 8) continue;
            const auto exchange = run_phantom(OpKind::all_to_all, "bruck", ranks, bytes, 4);
            EXPECT_EQ(exchange.steps, rounds) << ranks;
            if (!std::has_single_bit(static_cast<unsigned>(ranks))) continue;
            EXPECT_EQ(exchange.most_bytes, bytes / 2 * rounds);
        }
    }
}

TEST(SimulatedSteps, Pairwise) {
    for (const int ranks : {2, 5, 64, 200}) {
        const std::size_t bytes = static_cast<std::size_t>(ranks) * 64 * KiB;
        const auto exchange = run_phantom(OpKind::all_to_all, "pairwise", ranks, bytes);
        EXPECT_EQ(exchange.steps, ranks - 1);
        EXPECT_EQ(exchange.most_bytes, bytes - bytes / ranks);
        EXPECT_EQ(exchange.most_messages, ranks - 1);
        const auto scatter = run_phantom(OpKind::reduce_scatter, "pairwise", ranks, bytes);
        EXPECT_EQ(scatter.most_bytes, bytes - bytes / ranks);
    }
    // What travels with its envelope is sent to all at once.
    EXPECT_EQ(run_phantom(OpKind::reduce_scatter, "pairwise", 64, 64 * KiB).steps, 1);
}

// Every rank gets everybody's part of its own slice at once, folds it, and hands it around.
TEST(SimulatedSteps, PairwiseAllReduce) {
    for (const int ranks : {2, 5, 64, 200}) {
        const std::size_t bytes = static_cast<std::size_t>(ranks) * KiB;
        const auto result = run_phantom(OpKind::all_reduce, "pairwise", ranks, bytes, 4);
        EXPECT_EQ(result.steps, 1 + ranks - 1) << ranks;
        EXPECT_EQ(result.most_bytes, 2 * (bytes - bytes / ranks));
        EXPECT_EQ(result.most_messages, 2 * (ranks - 1));
    }
}

// Two messages to everybody: where the memory lies, and that its slice is done. In between a rank
// reads everybody's slice and writes the sum to everybody.
TEST(SimulatedSteps, Direct) {
    constexpr std::size_t address = 2 * sizeof(RemoteBuffer);  // of the input and of the output
    for (const int ranks : {2, 5, 64, 200}) {
        const std::size_t bytes = static_cast<std::size_t>(ranks) * KiB;
        const auto result = run_phantom(OpKind::all_reduce, "direct", ranks, bytes);
        EXPECT_EQ(result.steps, 2) << ranks;
        const auto others = static_cast<std::size_t>(ranks - 1);
        EXPECT_EQ(result.most_bytes, 2 * others * KiB + others * address);
        EXPECT_EQ(result.most_messages, 2 * others);
    }
}

// As above, but that each rank moves only what it needs: nothing goes through a third one.
TEST(SimulatedSteps, DirectCopies) {
    constexpr std::size_t address = 2 * sizeof(RemoteBuffer);
    for (const int ranks : {2, 5, 64}) {
        const auto others = static_cast<std::size_t>(ranks - 1);
        const std::size_t own = 64 * KiB;
        const std::size_t bytes = own + others * own;
        const auto most_bytes = [&](OpKind kind) {
            const auto result = run_phantom(kind, "direct", ranks, bytes);
            EXPECT_EQ(result.steps, 2) << info(kind).name << ", " << ranks << " ranks";
            return result.most_bytes;
        };
        EXPECT_EQ(most_bytes(OpKind::all_gather), others * own + others * address);
        EXPECT_EQ(most_bytes(OpKind::all_to_all), others * own + others * address);
        EXPECT_EQ(most_bytes(OpKind::reduce_scatter), others * own + others * address);
        EXPECT_EQ(most_bytes(OpKind::reduce), others * own + own + others * address);
        EXPECT_EQ(most_bytes(OpKind::gather), others * own);  // at the root
        EXPECT_EQ(most_bytes(OpKind::scatter), own);          // at the others
        EXPECT_EQ(most_bytes(OpKind::broadcast), bytes);
    }
}

TEST(SimulatedSteps, Chains) {
    for (const int ranks : {2, 5, 64, 1000}) {
        for (const std::size_t bytes : sizes) {
            const auto scan = run_phantom(OpKind::scan, "chain", ranks, bytes);
            EXPECT_EQ(scan.steps, ranks - 1);
            EXPECT_EQ(scan.most_bytes, bytes);
        }
        const auto reduce = run_phantom(OpKind::reduce, "chain", ranks, 4 * KiB);
        EXPECT_EQ(reduce.steps, ranks);
        EXPECT_EQ(reduce.most_bytes, 4 * KiB);
    }
}

TEST(SimulatedSteps, Linear) {
    for (const int ranks : {2, 64, 1000}) {
        const std::size_t bytes = static_cast<std::size_t>(ranks) * 16 * KiB;
        const auto scatter = run_phantom(OpKind::scatter, "linear", ranks, bytes);
        EXPECT_EQ(scatter.steps, 1);
        EXPECT_EQ(scatter.most_bytes, bytes - bytes / ranks);
        EXPECT_EQ(run_phantom(OpKind::gather, "linear", ranks, bytes).most_bytes, bytes / ranks);
    }
}

// Only the leaders talk to other hosts, around a ring.
TEST(SimulatedHosts, DataCrossesBetweenHostsOncePerHost) {
    for (const int hosts : {2, 4, 8}) {
        for (const std::size_t bytes : sizes) {
            const auto result = run_phantom(OpKind::all_reduce, "hosts", 128, bytes, hosts);
            EXPECT_EQ(result.bytes_between_hosts, 2 * (hosts - 1) * bytes);
        }
    }
    // Of a plain ring every host's last rank sends to the next host.
    const auto ring = run_phantom(OpKind::all_reduce, "ring", 128, 4 * MiB, 4);
    EXPECT_EQ(ring.bytes_between_hosts, 4 * ring.most_bytes);
}

}  // namespace
}  // namespace trireme
