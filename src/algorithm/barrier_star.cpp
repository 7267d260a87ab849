#include "algorithm/algorithms.h"
#include "core/pooled_vector.h"

namespace trireme::algorithm {

namespace {

enum Step : int { came, go };

}  // namespace

// Everyone tells rank 0 that it has come, and goes on when rank 0 says so. Rank 0 listens to all at
// once, so at any time it knows who is missing: what a barrier in rounds cannot say.
Task barrier_star(Call& call) {
    if (call.rank() != 0) {
        Send here(call, 0, came, {});
        Receive released(call, 0, go, {});
        co_await here;
        co_await released;
        co_return;
    }
    PooledVector<Receive> others(call.pool(), static_cast<std::size_t>(call.size()));
    for (int rank = 1; rank < call.size(); ++rank) others.emplace_back(call, rank, came, Buffer{});
    for (Receive& other : others) {
        co_await other;
    }
    for (int rank = 1; rank < call.size(); ++rank) {
        Send release(call, rank, go, {});
        co_await release;
    }
}

}  // namespace trireme::algorithm
