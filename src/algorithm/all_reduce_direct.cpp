#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "algorithm/algorithms.h"
#include "algorithm/cells.h"
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
// rank's output. What this process maps is read where it lies. Returns the rank whose memory could
// not be reached, or -1.
int reduce_piece(Call& call, const PooledVector<Reach>& peers, std::size_t offset,
                 const Buffer& partial, const Buffer& arriving) {
    const std::size_t bytes = partial.bytes();
    const auto peer = [&](int rank) -> const Reach& {
        return peers[static_cast<std::size_t>(rank)];
    };
    const auto at = [&](const std::byte* data) {
        return Buffer{const_cast<std::byte*>(data), partial.count, partial.dtype, partial.device};
    };
    Buffer left;  // what lower ranks have
    std::shared_ptr<const std::byte> first;
    bool viewed = false;
    for (int rank = 0; rank < call.size(); ++rank) {
        Buffer here = at(call.in().data + offset);
        std::shared_ptr<const std::byte> there;
        if (rank != call.rank()) {
            there = call.memory(rank)->view(peer(rank).in, offset, bytes);
            viewed = viewed || there;
            here = there ? at(there.get()) : rank == 0 ? partial : arriving;
            if (!there && !call.memory(rank)->read(peer(rank).in, offset, {here.data, bytes}))
                return rank;
        }
        if (rank == 0) {
            left = here;
            first = std::move(there);
            continue;
        }
        call.reduce(left, here, partial);
        left = partial;
    }
    for (int rank = 0; rank < call.size() && viewed; ++rank)
        if (rank != call.rank() && !call.memory(rank)->is_open(peer(rank).in)) return rank;
    call.conclude(partial);
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank())
            call.copy(partial, {call.out().data + offset, partial.count, partial.dtype});
        else if (!call.memory(rank)->write(peer(rank).out, offset, {partial.data, bytes}))
            return rank;
    }
    return -1;
}

// Where all meet, instead of by messages; null where there is no such place.
Commons* meeting_place(const Call& call) noexcept {
    return call.is_whole() ? call.place().commons : nullptr;
}

// Opens this rank's buffers to everybody, and learns where everybody's are.
Task open_to_all(Call& call, PooledVector<Publication>& own, PooledVector<Reach>& peers) {
    Commons* const commons = meeting_place(call);
    const MessageHead head = call.head(exchange);
    if (commons != nullptr) {
        co_await await_cell(call);
    }
    for (int rank = 0; rank < call.size(); ++rank) {
        if (rank == call.rank()) continue;
        const Buffer reach = own.emplace_back(call, rank).message();
        if (commons != nullptr) {
            const auto place = static_cast<std::size_t>(rank) * sizeof(Reach);
            std::memcpy(commons->own_payload(head.number) + place, reach.data, sizeof(Reach));
            continue;
        }
        Send send(call, rank, exchange, reach);
        co_await send;
    }
    if (commons != nullptr) {
        commons->publish(head.number, head.fingerprint);
        co_await await_cells(call);
    }
    for (int rank = 0; rank < call.size(); ++rank) {
        Reach& reach = peers.emplace_back();
        if (rank == call.rank()) continue;
        if (commons != nullptr) {
            const auto place = static_cast<std::size_t>(call.rank()) * sizeof(Reach);
            std::memcpy(&reach, commons->payload(rank, head.number) + place, sizeof(Reach));
            continue;
        }
        Receive receive(call, rank, exchange, as_buffer(reach));
        co_await receive;
    }
}

// Says that this rank is done with everybody's memory, and waits until everybody is.
Task close_to_all(Call& call) {
    if (Commons* const commons = meeting_place(call)) {
        const std::uint64_t number = call.head(finished).number;
        commons->leave(number);
        for (int rank = 0; rank < call.size(); ++rank) {
            Commons::Wait left(*commons, number, rank, Commons::Until::left);
            co_await left;
        }
        co_return;
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

}  // namespace

// Through the peers' memory: each rank owns one slice. It reads that slice of everybody's input,
// folds it in rank order, and writes the result into everybody's output. Reading and writing both
// go straight from and to the users' buffers, so each rank moves n slices in and n slices out, and
// the data crosses no staging memory. In place works because nobody but its owner touches a slice.
//
// Everybody opens its buffers to everybody first, with the fingerprint, so nothing is read or
// written unless all ranks made the same call. At the end each says that it is done with
// everybody's memory. Both go through the cells of the group's commons, or by messages.
Task all_reduce_direct(Call& call) {
    const auto ranks = static_cast<std::size_t>(call.size());
    PooledVector<Publication> own(call.pool(), ranks);
    PooledVector<Reach> peers(call.pool(), ranks);
    co_await open_to_all(call, own, peers);

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

    co_await close_to_all(call);
}

}  // namespace trireme::algorithm
