#include <algorithm>

#include "algorithm/direct.h"

namespace trireme::algorithm {

namespace {

// A call into the kernel moves this much: long enough for its price, and it stays in the
// second-level cache while it is reduced.
constexpr std::size_t fetched_bytes = 256 * 1024;
// Where nothing is fetched, what the fold writes is in the first-level cache still when it goes on
// to the receivers.
constexpr std::size_t mapped_bytes = 16 * 1024;

// What this process maps, of a part of all other ranks' memory. Held for a while, so that a lease
// is not taken and given back for each piece.
class Mapped {
public:
    Mapped(Call& call, DirectAccess& access, std::size_t offset, std::size_t bytes,
           Receivers receivers)
        : in_(call.pool(), static_cast<std::size_t>(call.size())),
          out_(call.pool(), static_cast<std::size_t>(call.size())) {
        for (int rank = 0; rank < call.size(); ++rank) {
            const bool other = rank != call.rank();
            in_.emplace_back(other ? access.hold_in(rank, offset, bytes) : HeldMemory());
            all_ = all_ && (!other || in_.back().data() != nullptr);
            const bool gets = other && receives(call, receivers, rank);
            out_.emplace_back(gets ? access.hold_out(rank, offset, bytes) : HeldMemory());
        }
    }

    [[nodiscard]] bool all() const noexcept { return all_; }
    [[nodiscard]] std::byte* in(int rank) const noexcept { return at(in_, rank); }
    [[nodiscard]] std::byte* out(int rank) const noexcept { return at(out_, rank); }

private:
    static std::byte* at(const PooledVector<HeldMemory>& held, int rank) noexcept {
        return held[static_cast<std::size_t>(rank)].data();
    }

    PooledVector<HeldMemory> in_;
    PooledVector<HeldMemory> out_;
    bool all_ = true;
};

Buffer at(const std::byte* data, const Buffer& shape) noexcept {
    return {const_cast<std::byte*>(data), shape.count, shape.dtype, shape.device};
}

class Fold {
public:
    Fold(Call& call, DirectAccess& access, Receivers receivers, std::size_t most_bytes)
        : call_(call),
          access_(access),
          receivers_(receivers),
          partial_(call.working_memory(most_bytes)),
          arriving_(call.working_memory(most_bytes)) {}

    /// What `mapped` holds begins `within` bytes before the piece. The rank that is to blame, or
    /// -1.
    int run(const Mapped& mapped, std::size_t offset, std::size_t within, const Buffer& own,
            const Buffer& target) {
        const Buffer partial = Call::like(own, partial_);
        const Buffer arriving = Call::like(own, arriving_);
        Buffer left;  // the fold of the lower ranks
        for (int rank = 0; rank < call_.size(); ++rank) {
            Buffer here = own;
            if (rank != call_.rank()) {
                std::byte* const there = mapped.in(rank);
                here = there != nullptr ? at(there + within, own) : rank == 0 ? partial : arriving;
                if (there == nullptr && !access_.read(rank, offset, here)) return rank;
            }
            // In place the target is this rank's own contribution until that has been read.
            const bool in_target = target.data != nullptr && rank >= call_.rank();
            const Buffer& into = in_target ? target : partial;
            if (rank > 0) call_.reduce(left, here, into);
            left = rank > 0 ? into : here;
        }
        call_.conclude(left);
        for (int rank = 0; rank < call_.size(); ++rank) {
            if (rank == call_.rank() || !receives(call_, receivers_, rank)) continue;
            if (std::byte* const there = mapped.out(rank))
                call_.copy(left, at(there + within, own));
            else if (!access_.write(rank, offset, left))
                return rank;
        }
        return -1;
    }

private:
    Call& call_;
    DirectAccess& access_;
    Receivers receivers_;
    BlockPool::Block partial_;
    BlockPool::Block arriving_;
};

}  // namespace

bool receives(const Call& call, Receivers receivers, int rank) noexcept {
    return receivers == Receivers::everybody ||
           (receivers == Receivers::root && rank == call.peer());
}

int fold_direct(Call& call, DirectAccess& access, std::size_t offset, const Buffer& own,
                const Buffer& target, Receivers receivers) {
    const std::size_t width = size_of(own.dtype);
    Fold fold(call, access, receivers, std::min(own.bytes(), fetched_bytes));
    const std::size_t part = PeerMemory::lease_bytes / width;
    for (std::size_t begun = 0; begun < own.count; begun += part) {
        const std::size_t end = std::min(own.count, begun + part);
        const Mapped mapped(call, access, offset + begun * width, (end - begun) * width, receivers);
        const std::size_t piece = (mapped.all() ? mapped_bytes : fetched_bytes) / width;
        for (std::size_t done = begun; done < end; done += piece) {
            const std::size_t count = std::min(piece, end - done);
            const Buffer into = target.data == nullptr ? target : target.slice(done, count);
            const int unreachable = fold.run(mapped, offset + done * width, (done - begun) * width,
                                             own.slice(done, count), into);
            if (unreachable >= 0) return unreachable;
        }
    }
    return -1;
}

}  // namespace trireme::algorithm
