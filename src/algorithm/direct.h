#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithm/call.h"
#include "core/pooled_vector.h"
#include "core/task.h"
#include "link/peer_memory.h"

// What the algorithms have in common that go through the peers' memory: `direct`.

namespace trireme::algorithm {

/// This rank's buffers, open to one peer; closed at the end, also when the operation fails, before
/// the user gets the memory back.
class Publication {
public:
    /// What a rank lets a peer reach: one buffer to read, perhaps one to write.
    struct Reach {
        RemoteBuffer in;
        RemoteBuffer out;
    };

    Publication(Call& call, int peer, const Buffer& in, const Buffer* out);
    Publication(const Publication&) = delete;
    Publication& operator=(const Publication&) = delete;
    ~Publication() { withdraw(); }

    [[nodiscard]] Reach& reach() noexcept { return reach_; }

private:
    void withdraw() noexcept;

    PeerMemory* memory_;
    Reach reach_;
};

/// One operation in which ranks reach into one another's memory.
///
/// Everybody opens its buffers to those that need them first, with the fingerprint, so nothing is
/// read or written unless the ranks made the same call. At the end each says that it is done with
/// the others' memory. Both go through the cells of the group's commons, or by messages.
class DirectAccess {
public:
    explicit DirectAccess(Call& call);
    DirectAccess(const DirectAccess&) = delete;
    DirectAccess& operator=(const DirectAccess&) = delete;
    ~DirectAccess() = default;

    /// What lies open to a rank: `in` for it to read, `out`, unless null, for it to write.
    struct Shown {
        Buffer in;
        const Buffer* out = nullptr;
    };
    /// Opens what `shown` says, a function of the rank, to each that uses it, and waits until all
    /// are here whose memory this rank uses.
    Task meet(Shown (*shown)(const Call& call, int rank));
    /// Reads from `offset` (bytes) of what `rank` shows; false where that has been taken back.
    [[nodiscard]] bool read(int rank, std::size_t offset, const Buffer& target);
    [[nodiscard]] bool write(int rank, std::size_t offset, const Buffer& source);
    /// In place, where this process maps it; else null.
    [[nodiscard]] HeldMemory hold_in(int rank, std::size_t offset, std::size_t bytes);
    [[nodiscard]] HeldMemory hold_out(int rank, std::size_t offset, std::size_t bytes);
    /// Throws unless what `rank` shows is as long as `target`.
    void refuse_other_length(int rank, const Buffer& target);
    /// Says that this rank is done, and waits until those are that use its memory.
    Task part();
    /// Throws why `rank` has taken its memory back.
    Task explain(int rank);

private:
    [[nodiscard]] Publication::Reach& reach(int rank) noexcept {
        return reaches_[static_cast<std::size_t>(rank)];
    }

    Call& call_;
    Commons* commons_;  // where all meet, instead of by messages; null where there is none
    PooledVector<Publication> own_;
    PooledVector<Publication::Reach> reaches_;  // of the others, by rank
};

/// Who gets the result of a reduction besides the rank that has folded it.
enum class Receivers : std::uint8_t { nobody, root, everybody };
[[nodiscard]] bool receives(const Call& call, Receivers receivers, int rank) noexcept;

/// target = the left fold, in rank order, of what all ranks have at `offset` (bytes) of what they
/// show, this rank at `own`; concluded, and written to the same offset of the receivers' outputs.
/// `own` may be `target`. Returns the rank whose memory could not be reached, or -1.
[[nodiscard]] int fold_direct(Call& call, DirectAccess& access, std::size_t offset,
                              const Buffer& own, const Buffer& target, Receivers receivers);

}  // namespace trireme::algorithm
