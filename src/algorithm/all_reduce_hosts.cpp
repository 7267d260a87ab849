#include <span>

#include "algorithm/algorithms.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

namespace {

// The ranks of this rank's host, and the first rank of each host, its leader.
struct Hosts {
    explicit Hosts(const Call& call)
        : mine_(call.pool(), call.hosts().size()), leaders_(call.pool(), call.hosts().size()) {
        const auto hosts = call.hosts();
        const int own = hosts[static_cast<std::size_t>(call.rank())];
        for (int rank = 0; rank < call.size(); ++rank) {
            const int host = hosts[static_cast<std::size_t>(rank)];
            if (host == own) mine_.emplace_back(rank);
            // Hosts are numbered in rank order, so a new one has the next number.
            if (host == static_cast<int>(leaders_.size())) leaders_.emplace_back(rank);
        }
    }
    [[nodiscard]] std::span<const int> mine() const { return {mine_.begin(), mine_.size()}; }
    [[nodiscard]] std::span<const int> leaders() const {
        return {leaders_.begin(), leaders_.size()};
    }

private:
    PooledVector<int> mine_;
    PooledVector<int> leaders_;
};

}  // namespace

// In three stages, so that the data crosses between hosts once per host, not once per rank: each
// host reduces to its leader, the leaders reduce among themselves around a ring, each leader hands
// the result out. Partial sums stay in working memory; the output receives the finished sum.
Task all_reduce_hosts(Call& call) {
    const Hosts hosts(call);
    const BlockPool::Block memory = call.working_memory(call.in().bytes());
    const Buffer partial = Call::like(call.in(), memory);

    Op in_host = call.op();
    in_host.kind = OpKind::reduce;
    in_host.peer = 0;
    in_host.out = {&partial, 1};
    if (in_host.reduce == avg) in_host.reduce = sum;  // divided once, by all ranks, at the end
    Call reducing(call, in_host, hosts.mine(), 1);
    co_await reduce_binomial(reducing);

    const bool is_leader = reducing.rank() == 0;
    if (is_leader) {
        Op between = in_host;
        between.kind = OpKind::all_reduce;
        between.in = between.out = {&partial, 1};
        Call leading(call, between, hosts.leaders(), 2);
        co_await all_reduce_ring(leading);
        call.copy(partial, call.out());
        call.conclude(call.out());
    }

    Op down = call.op();
    down.kind = OpKind::broadcast;
    down.peer = 0;
    down.in = down.out;
    Call sending(call, down, hosts.mine(), 3);
    co_await broadcast_binomial(sending);
}

}  // namespace trireme::algorithm
