#include <algorithm>

#include "algorithm/algorithms.h"
#include "algorithm/schedule/partition.h"
#include "core/pooled_vector.h"
#include "trireme/error.h"

namespace trireme::algorithm {

namespace {

// A piece that stays in the second-level cache while it is reduced.
constexpr std::size_t piece_bytes = 256 * 1024;
constexpr int exchange = 0;
constexpr int finished = 1;
constexpr int never = 2;  // nobody sends this: a wait for it ends when the group fails

// What each rank lets every other rank reach.
struct Reach {
    RemoteBuffer in;
    RemoteBuffer out;
};

Buffer as_buffer(Reach& reach) noexcept {
    return {reinterpret_cast<std::byte*>(&reach), sizeof(Reach), Dtype::uint8, Device::host};
}

// This rank's buffers, open to one peer; closed at the end, also when the operation fails, before
// the user gets the memory back.
class Publication {
public:
    Publication(Call& call, int peer) : memory_(call.memory(peer)) {
        const bool in_place = call.in().data == call.out().data;
        const auto in = memory_->publish({call.in().data, call.in().bytes()});
        if (in) reach_.in = *in;
        const auto out = in_place ? in : memory_->publish({call.out().data, call.out().bytes()});
        if (out) reach_.out = *out;
        if (!in || !out) {
            withdraw();
            throw Error(ErrorCode::system,
                        "too many started operations publish memory at the same time: wait for "
                        "some of them earlier, or set TRIREME_ALGORITHM=all_reduce:ring");
        }
    }
    Publication(const Publication&) = delete;
    Publication& operator=(const Publication&) = delete;
    ~Publication() { withdraw(); }

    [[nodiscard]] Buffer message() noexcept { return as_buffer(reach_); }

private:
    void withdraw() noexcept {
        if (reach_.in.generation != 0) memory_->withdraw(reach_.in);
        const bool in_place = reach_.out.slot == reach_.in.slot;
        if (reach_.out.generation != 0 && !in_place) memory_->withdraw(reach_.out);
    }

    PeerMemory* memory_;
    Reach reach_;
};

// One piece of this rank's slice: the fold over all ranks, in rank order, and the result into every
// rank's output. Returns the rank whose memory could not be reached, or -1.
int reduce_piece(Call& call, const PooledVector<Reach>& peers, std::size_t offset,
                 const Buffer& partial, const Buffer& arriving) {
    const std::size_t bytes = partial.bytes();
    const auto peer = [&](int rank) -> const Reach& {
        return peers[static_cast<std::size_t>(rank)];
    };
    const Buffer own = {call.in().data + offset, partial.count, partial.dtype, partial.device};
    for (int rank = 0; rank < call.size(); ++rank) {
        const Buffer& target = rank == 0 ? partial : arriving;
        if (rank == call.rank()) {
            if (rank == 0)
                call.copy(own, partial);
            else
                call.reduce(partial, own, partial);
            continue;
        }
        if (!call.memory(rank)->read(peer(rank).in, offset, {target.data, bytes})) return rank;
        if (rank != 0) call.reduce(partial, arriving, partial);
    }
    call.conclude(partial);
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank())
            call.copy(partial, {call.out().data + offset, partial.count, partial.dtype});
        else if (!call.memory(rank)->write(peer(rank).out, offset, {partial.data, bytes}))
            return rank;
    }
    return -1;
}

}  // namespace

// Through the peers' memory: each rank owns one slice. It reads that slice of everybody's input,
// folds it in rank order, and writes the result into everybody's output. Reading and writing both
// go straight from and to the users' buffers, so each rank moves n slices in and n slices out, and
// the data crosses no staging memory. In place works because nobody but its owner touches a slice.
//
// Everybody opens its buffers to everybody first; those messages carry the fingerprints, so nothing
// is read or written unless all ranks made the same call. The closing signals say that a rank is
// done with everybody's memory.
Task all_reduce_direct(Call& call) {
    const auto ranks = static_cast<std::size_t>(call.size());
    PooledVector<Publication> own(call.pool(), ranks);
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        own.emplace_back(call, rank);
        Send send(call, rank, exchange, own.back().message());
        co_await send;
    }
    PooledVector<Reach> peers(call.pool(), ranks);
    for (int rank = 0; rank < call.size(); ++rank) {
        Reach& reach = peers.emplace_back();
        if (rank == call.rank()) continue;
        Receive receive(call, rank, exchange, as_buffer(reach));
        co_await receive;
    }

    const std::size_t width = size_of(call.in().dtype);
    const schedule::Partition slices{call.in().count, call.size(), BlockPool::alignment / width};
    const std::size_t first = slices.offset(call.rank());
    const std::size_t count = slices.size(call.rank());
    const std::size_t piece = std::min(count, piece_bytes / width);
    const BlockPool::Block partial_memory = call.working_memory(piece * width);
    const BlockPool::Block arriving_memory = call.working_memory(piece * width);
    for (std::size_t done = 0; done < count; done += piece) {
        const Buffer shape = call.in().slice(0, std::min(piece, count - done));
        const int unreachable =
            reduce_piece(call, peers, (first + done) * width, Call::like(shape, partial_memory),
                         Call::like(shape, arriving_memory));
        if (unreachable < 0) continue;
        // It took its memory back, so it failed; what it has to say about that ends this wait.
        Receive reason(call, unreachable, never, {});
        co_await reason;
        throw Error(ErrorCode::peer_lost, "a rank withdrew its memory while it was in use",
                    {unreachable});
    }

    // With each peer this rank has exchanged its own slice and the peer's, both ways: of the peer's
    // reads and writes nothing else tells.
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        const std::size_t bytes = (count + slices.size(rank)) * width;
        call.link(rank).traffic().count_sent(bytes);
        call.link(rank).traffic().count_received(bytes);
    }

    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        Send send(call, rank, finished, {});
        co_await send;
    }
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        Receive receive(call, rank, finished, {});
        co_await receive;
    }
}

}  // namespace trireme::algorithm
