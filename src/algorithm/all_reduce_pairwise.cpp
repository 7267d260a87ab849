#include "algorithm/algorithms.h"
#include "algorithm/rank_order.h"
#include "algorithm/schedule/partition.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

// Each rank folds one part of everybody's data, in rank order, then the finished parts travel
// around the ring. It moves as little as the ring, and its value depends on nothing but the ranks'
// values: the price is working memory for one whole buffer.
Task all_reduce_pairwise(Call& call) {
    const schedule::Partition cut{call.in().count, call.size()};
    const auto ranks = static_cast<std::size_t>(call.size());
    PooledVector<Buffer> in(call.pool(), ranks);
    PooledVector<Buffer> out(call.pool(), ranks);
    for (int rank = 0; rank < call.size(); ++rank) {
        in.emplace_back(call.in().slice(cut.offset(rank), cut.size(rank)));
        out.emplace_back(call.out().slice(cut.offset(rank), cut.size(rank)));
    }
    const Buffer own = out[static_cast<std::size_t>(call.rank())];
    co_await exchange_and_fold(call, {in.begin(), in.size()}, own);
    call.conclude(own);

    Op gather = call.op();
    gather.kind = OpKind::all_gather;
    gather.in = {&own, 1};
    gather.out = {out.begin(), out.size()};
    Call gathering(call, gather, {}, 1);
    co_await all_gather_ring(gathering);
}

}  // namespace trireme::algorithm
