#include <span>

#include "algorithm/algorithms.h"
#include "algorithm/schedule/partition.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

// The root deals the data out in n parts, which then travel around the ring (van de Geijn). Nobody
// sends more than about twice the data, whatever n; a tree's root sends it log2(n) times.
Task broadcast_scatter_ring(Call& call) {
    const schedule::Partition cut{call.out().count, call.size()};
    PooledVector<Buffer> cut_parts(call.pool(), static_cast<std::size_t>(call.size()));
    for (int rank = 0; rank < call.size(); ++rank)
        cut_parts.emplace_back(call.out().slice(cut.offset(rank), cut.size(rank)));
    const std::span<const Buffer> parts(cut_parts.begin(), cut_parts.size());
    const Buffer own = parts[static_cast<std::size_t>(call.rank())];

    Op deal = call.op();
    deal.kind = OpKind::scatter;
    deal.in = parts;
    deal.out = {&own, 1};
    Call dealing(call, deal, {}, 1);
    co_await scatter_linear(dealing);

    Op gather = call.op();
    gather.kind = OpKind::all_gather;
    gather.in = {&own, 1};
    gather.out = parts;
    Call gathering(call, gather, {}, 2);
    co_await all_gather_ring(gathering);
}

}  // namespace trireme::algorithm
