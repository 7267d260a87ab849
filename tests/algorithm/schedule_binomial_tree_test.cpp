#include "algorithm/schedule/binomial_tree.h"

#include <gtest/gtest.h>

#include <vector>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(BinomialTree{0, 8, 0}.child_count() == 3 && BinomialTree{0, 8, 0}.child(0) == 4);
static_assert(BinomialTree{6, 8, 0}.parent() == 4);
static_assert(BinomialTree{0, 1, 0}.child_count() == 0);

int rounds_needed(int size) {
    int rounds = 0;
    for (int reached = 1; reached < size; reached *= 2) ++rounds;
    return rounds;
}

template <class Body>
void for_every_tree(Body body) {
    for (int size = 1; size <= largest_size; ++size) {
        for (int root = 0; root < size; ++root) {
            body(size, root);
            if (testing::Test::HasFatalFailure()) {
                ADD_FAILURE() << "size " << size << ", root " << root;
                return;
            }
        }
    }
}

TEST(BinomialTree, parents_and_children_agree) {
    for_every_tree([](int size, int root) {
        std::vector<int> parents_seen(size, 0);
        for (int rank = 0; rank < size; ++rank) {
            const BinomialTree tree{rank, size, root};
            ASSERT_EQ(tree.is_root(), rank == root);
            for (int i = 0; i < tree.child_count(); ++i) {
                const int child = tree.child(i);
                ASSERT_GE(child, 0);
                ASSERT_LT(child, size);
                ASSERT_NE(child, rank);
                ASSERT_EQ((BinomialTree{child, size, root}.parent()), rank);
                ++parents_seen[child];
            }
        }
        for (int rank = 0; rank < size; ++rank) {
            ASSERT_EQ(parents_seen[rank], rank == root ? 0 : 1) << "rank " << rank;
        }
    });
}

TEST(BinomialTree, broadcast_reaches_all_in_the_fewest_rounds) {
    for_every_tree([](int size, int root) {
        // Each rank that has the data serves one child per round, in the given order.
        std::vector<int> has_since(size, -1);
        has_since[root] = 0;
        for (int round = 1; round <= rounds_needed(size); ++round) {
            Step<int> network;
            std::vector<int> receivers;
            for (int rank = 0; rank < size; ++rank) {
                const BinomialTree tree{rank, size, root};
                if (has_since[rank] < 0) continue;
                const int index = round - 1 - has_since[rank];
                if (index >= tree.child_count()) continue;
                network.send(rank, tree.child(index), root);
                receivers.push_back(tree.child(index));
            }
            for (const int rank : receivers) {
                const BinomialTree tree{rank, size, root};
                ASSERT_TRUE(network.receive(tree.parent(), rank));
                ASSERT_EQ(has_since[rank], -1) << "rank " << rank << " is served twice";
                has_since[rank] = round;
            }
        }
        for (int rank = 0; rank < size; ++rank) ASSERT_GE(has_since[rank], 0) << "rank " << rank;
    });
}

/// What a rank hands to its parent: its own contribution and those of its children's subtrees.
Contributions collect(int rank, int size, int root) {
    Contributions result = only(rank, size);
    const BinomialTree tree{rank, size, root};
    for (int i = tree.child_count() - 1; i >= 0; --i) {
        add(result, collect(tree.child(i), size, root));
    }
    return result;
}

TEST(BinomialTree, reduce_collects_every_contribution_once) {
    for_every_tree(
        [](int size, int root) { ASSERT_EQ(collect(root, size, root), each_once(size)); });
}

TEST(BinomialTree, a_subtree_is_a_run_of_ranks) {
    for_every_tree([](int size, int root) {
        for (int rank = 0; rank < size; ++rank) {
            Contributions run(size, 0);
            const int length = BinomialTree{rank, size, root}.subtree_size();
            for (int i = 0; i < length; ++i) ++run[(rank + i) % size];
            ASSERT_EQ(collect(rank, size, root), run) << "rank " << rank;
        }
    });
}

TEST(BinomialTree, subtrees_shrink_from_the_second_child_on) {
    // The first child's subtree may be cut short by the number of ranks; it is still the deepest.
    for_every_tree([](int size, int root) {
        for (int rank = 0; rank < size; ++rank) {
            const BinomialTree tree{rank, size, root};
            for (int i = 2; i < tree.child_count(); ++i) {
                const BinomialTree before{tree.child(i - 1), size, root};
                const BinomialTree after{tree.child(i), size, root};
                ASSERT_GT(before.subtree_size(), after.subtree_size());
            }
        }
    });
}

}  // namespace
}  // namespace trireme::schedule
