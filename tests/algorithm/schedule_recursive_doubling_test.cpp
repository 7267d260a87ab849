#include "algorithm/schedule/recursive_doubling.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(RecursiveDoubling{0, 1}.rounds() == 0 && !RecursiveDoubling{0, 1}.is_host());
static_assert(RecursiveDoubling{5, 8}.partner(1) == 7);
static_assert(RecursiveDoubling{1, 3}.is_folded() && RecursiveDoubling{0, 3}.partner(0) == 2);

/// Runs the whole schedule on one value per rank; `reduce(into, from)`.
template <class Value, class Reduce>
void all_reduce(std::vector<Value>& values, Reduce reduce) {
    const int size = static_cast<int>(values.size());
    {
        Step<Value> fold;
        for (int rank = 0; rank < size; ++rank) {
            const RecursiveDoubling schedule{rank, size};
            ASSERT_FALSE(schedule.is_folded() && schedule.is_host());
            if (schedule.is_folded()) fold.send(rank, schedule.fold_partner(), values[rank]);
        }
        for (int rank = 0; rank < size; ++rank) {
            const RecursiveDoubling schedule{rank, size};
            if (!schedule.is_host()) continue;
            const auto received = fold.receive(schedule.fold_partner(), rank);
            ASSERT_TRUE(received);
            reduce(values[rank], *received);
        }
    }
    for (int round = 0; round < RecursiveDoubling{0, size}.rounds(); ++round) {
        Step<Value> network;
        for (int rank = 0; rank < size; ++rank) {
            const RecursiveDoubling schedule{rank, size};
            if (schedule.is_folded()) continue;
            ASSERT_GE(schedule.partner(round), 0);
            ASSERT_LT(schedule.partner(round), size);
            network.send(rank, schedule.partner(round), values[rank]);
        }
        for (int rank = 0; rank < size; ++rank) {
            const RecursiveDoubling schedule{rank, size};
            if (schedule.is_folded()) continue;
            const auto received = network.receive(schedule.partner(round), rank);
            ASSERT_TRUE(received);
            reduce(values[rank], *received);
        }
    }
    Step<Value> unfold;
    for (int rank = 0; rank < size; ++rank) {
        const RecursiveDoubling schedule{rank, size};
        if (schedule.is_host()) unfold.send(rank, schedule.fold_partner(), values[rank]);
    }
    for (int rank = 0; rank < size; ++rank) {
        const RecursiveDoubling schedule{rank, size};
        if (!schedule.is_folded()) continue;
        const auto received = unfold.receive(schedule.fold_partner(), rank);
        ASSERT_TRUE(received);
        values[rank] = *received;
    }
}

TEST(RecursiveDoubling, all_ranks_end_with_every_contribution_once) {
    for (int size = 1; size <= largest_size; ++size) {
        std::vector<Contributions> values;
        for (int rank = 0; rank < size; ++rank) values.push_back(only(rank, size));
        all_reduce(values, [](Contributions& into, const Contributions& from) { add(into, from); });
        for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(values[rank], each_once(size)) << "rank " << rank << " of " << size;
        }
    }
}

TEST(RecursiveDoubling, all_ranks_end_with_the_same_bits) {
    for (int size = 1; size <= largest_size; ++size) {
        // Values whose float sum depends on the grouping of the additions.
        std::vector<float> values;
        for (int rank = 0; rank < size; ++rank) {
            const float large = rank % 3 == 0 ? 1e6F : 0;
            values.push_back(large + 1.0F / static_cast<float>(3 + rank * rank));
        }
        all_reduce(values, [](float& into, float from) { into += from; });
        for (int rank = 1; rank < size; ++rank) {
            ASSERT_EQ(std::memcmp(&values[0], &values[rank], sizeof(float)), 0)
                << "rank " << rank << " of " << size;
        }
    }
}

TEST(RecursiveDoubling, takes_the_fewest_rounds_and_folds_only_the_surplus) {
    for (int size = 1; size <= largest_size; ++size) {
        int power = 1;
        int rounds = 0;
        for (; power * 2 <= size; power *= 2) ++rounds;
        int folded = 0;
        for (int rank = 0; rank < size; ++rank) {
            const RecursiveDoubling schedule{rank, size};
            ASSERT_EQ(schedule.rounds(), rounds);
            folded += schedule.is_folded() ? 1 : 0;
        }
        ASSERT_EQ(folded, size - power);
    }
}

}  // namespace
}  // namespace trireme::schedule
