#include <vector>

#include "algorithm/algorithms.h"
#include "algorithm/rank_order.h"
#include "algorithm/schedule/partition.h"

namespace trireme::algorithm {

// Each rank folds one part of everybody's data, in rank order, then the finished parts travel
// around the ring. It moves as little as the ring, and its value depends on nothing but the ranks'
// values: the price is working memory for one whole buffer.
Task all_reduce_pairwise(Call& call) {
    const schedule::Partition cut{call.in().count, call.size()};
    std::vector<Buffer> in;
    std::vector<Buffer> out;
    for (int rank = 0; rank < call.size(); ++rank) {
        in.push_back(call.in().slice(cut.offset(rank), cut.size(rank)));
        out.push_back(call.out().slice(cut.offset(rank), cut.size(rank)));
    }
    const Buffer own = out[static_cast<std::size_t>(call.rank())];
    co_await exchange_and_fold(call, in, own);
    call.conclude(own);

    Op gather = call.op();
    gather.kind = OpKind::all_gather;
    gather.in = {&own, 1};
    gather.out = out;
    Call gathering(call, gather, {}, 1);
    co_await all_gather_ring(gathering);
}

}  // namespace trireme::algorithm
