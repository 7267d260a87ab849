#include "algorithm/algorithms.h"
#include "algorithm/rank_order.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

// Everybody sends everybody its contribution to the other's part; each folds its own, in rank
// order.
Task reduce_scatter_pairwise(Call& call) {
    PooledVector<Buffer> parts(call.pool(), static_cast<std::size_t>(call.size()));
    for (int rank = 0; rank < call.size(); ++rank) parts.emplace_back(call.in_block(rank));
    co_await exchange_and_fold(call, {parts.begin(), parts.size()}, call.out());
    call.conclude(call.out());
}

}  // namespace trireme::algorithm
