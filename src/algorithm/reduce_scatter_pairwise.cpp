#include <vector>

#include "algorithm/algorithms.h"
#include "algorithm/rank_order.h"

namespace trireme::algorithm {

// Everybody sends everybody its contribution to the other's part; each folds its own, in rank
// order.
Task reduce_scatter_pairwise(Call& call) {
    std::vector<Buffer> parts;
    for (int rank = 0; rank < call.size(); ++rank) parts.push_back(call.in_block(rank));
    co_await exchange_and_fold(call, parts, call.out());
    call.conclude(call.out());
}

}  // namespace trireme::algorithm
