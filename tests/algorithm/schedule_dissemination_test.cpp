#include "algorithm/schedule/dissemination.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(Dissemination{0, 1}.rounds() == 0 && Dissemination{0, 5}.rounds() == 3);

TEST(Dissemination, everybody_has_heard_from_everybody) {
    for (int size = 1; size <= largest_size; ++size) {
        std::vector<std::set<int>> heard(size);
        for (int rank = 0; rank < size; ++rank) heard[rank].insert(rank);
        int rounds = 0;
        for (int reached = 1; reached < size; reached *= 2) ++rounds;
        ASSERT_EQ((Dissemination{0, size}.rounds()), rounds);
        for (int round = 0; round < rounds; ++round) {
            Step<std::set<int>> network;
            for (int rank = 0; rank < size; ++rank) {
                network.send(rank, Dissemination{rank, size}.send_to(round), heard[rank]);
            }
            for (int rank = 0; rank < size; ++rank) {
                auto news = network.receive(Dissemination{rank, size}.receive_from(round), rank);
                ASSERT_TRUE(news);
                heard[rank].merge(*news);
            }
        }
        for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(heard[rank].size(), static_cast<std::size_t>(size))
                << "rank " << rank << " of " << size;
        }
    }
}

}  // namespace
}  // namespace trireme::schedule
