#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/engine.h"
#include "link/shm/inbox.h"
#include "link/shm/sealed_memory.h"
#include "link/wire.h"

namespace trireme {

class Link;

/// What lies where in a commons.
namespace commons {

inline constexpr std::uint64_t magic = 0x6e6f'6d6d'6f63'7254;  // "Trcommon"
inline constexpr std::uint32_t layout_version = 2;

/// So many operations of a group may lie in its cells at a time.
inline constexpr std::size_t depth = 4;
inline constexpr std::size_t payload_bytes = 32 * 1024;

struct Header {
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    std::uint32_t members = 0;
    std::uint32_t stream = 0;
    shm::Token token{};
};

/// What a member brings into an operation. The head and a small payload share a line, so that a
/// peer fetches both at once. Cells stand an odd number of lines apart: at a power of two their
/// heads would all fall into the same places of the caches.
struct alignas(shm::apart) Cell {
    std::atomic<std::uint64_t> number;       ///< of the operation; written last
    std::atomic<std::uint64_t> fingerprint;  ///< of the call that the member made
    std::atomic<std::uint64_t> done;         ///< as `Member::done` was when it was written
    std::atomic<std::uint64_t> left;  ///< its number once the member has left it: see `leave`
    std::array<std::byte, payload_bytes> payload;
};
static_assert(sizeof(Cell) / shm::apart % 2 == 1);

struct Member {
    /// Of all operations up to this number it has read what it needed. Stands apart from what peers
    /// look at all the time.
    alignas(shm::apart) std::atomic<std::uint64_t> done;
    std::atomic<std::uint32_t> mapped;  ///< not 0: it has mapped the commons
    std::array<Cell, depth> cells;
};

}  // namespace commons

/// Memory that all members of a group on one host map: the fastest way to give each other little.
///
/// Each member has a few cells, used in turn. Into an operation it brings its payload, its
/// fingerprint and, written last, the operation's number; it reads the others' once their number is
/// there. Nobody writes into another member's cells, nor into a user's memory. A cell may be used
/// again once all members are done with the operation that was in it, which they say in the heads
/// of later cells, so that mostly nobody has to look elsewhere.
///
/// The lowest member makes it; the others find its descriptor through the store. Guarded by the
/// engine's mutex.
class Commons final : public Pollable {
public:
    static constexpr std::size_t most_members = 64;

    /// What belongs to a group. The links to its members, by rank, outlast this.
    struct Owner {
        Engine& engine;
        std::span<Link* const> links;
        int rank;
        std::uint32_t stream;
        shm::Token token;
    };

    /// Makes one. Throws `Error(system)` where the kernel gives no memory.
    explicit Commons(const Owner& owner);
    /// Maps that of another member; null where it is not there, or not to be opened.
    [[nodiscard]] static std::unique_ptr<Commons> open(const Owner& owner,
                                                       const shm::DescriptorAddress& address);
    Commons(const Commons&) = delete;
    Commons& operator=(const Commons&) = delete;
    ~Commons() override;

    /// Of the one that was made here: for the others to open.
    [[nodiscard]] shm::DescriptorAddress address() const noexcept;

    /// Whether nobody needs the address any more: all have mapped it, or are gone.
    [[nodiscard]] bool is_settled() noexcept;

    // --- What this member brings ---------------------------------------------------------------

    /// Whether this member's cell for an operation may be written: all are done with what was in
    /// it, and no earlier operation waits for room.
    [[nodiscard]] bool has_room(std::uint64_t number) noexcept {
        return waiting_for_room_ == 0 && is_free(number);
    }
    /// Where to write the payload of an operation for which there is room.
    [[nodiscard]] std::byte* own_payload(std::uint64_t number) noexcept {
        return cell(rank_, number).payload.data();
    }
    /// Shows it, after the payload was written, and wakes those that sleep.
    void publish(std::uint64_t number, std::uint64_t fingerprint) noexcept;
    [[nodiscard]] bool has_published(std::uint64_t number) const noexcept {
        return cell(rank_, number).number.load(std::memory_order_relaxed) == number;
    }
    /// This member has read all that it needs of an operation; each must be said once.
    void finish(std::uint64_t number) noexcept;

    // --- What the others bring -----------------------------------------------------------------

    [[nodiscard]] bool has_come(int rank, std::uint64_t number) const noexcept {
        return cell(rank, number).number.load(std::memory_order_acquire) == number;
    }
    /// What it shows of an operation; once it has come.
    [[nodiscard]] std::uint64_t fingerprint(int rank, std::uint64_t number) const noexcept {
        return cell(rank, number).fingerprint.load(std::memory_order_acquire);
    }
    [[nodiscard]] const std::byte* payload(int rank, std::uint64_t number) const noexcept {
        return cell(rank, number).payload.data();
    }
    /// Whether a member has gone on to a later operation without showing this one.
    [[nodiscard]] bool has_passed(int rank, std::uint64_t number) const noexcept;

    /// A member whose call of an operation was another than this one's.
    struct Stranger {
        int rank;
        std::uint64_t number;
        std::uint64_t fingerprint;
    };
    /// This member has compared what all others showed of an operation.
    void compared(std::uint64_t number) noexcept {
        if (compared_ + 1 == number) compared_ = number;
    }
    /// All have come to an operation, and what they say there is at hand: to look for room later,
    /// in cells that the others are about to write, would hold up this member and them.
    void learn_room(std::uint64_t number) noexcept {
        std::uint64_t least = done_;
        for (std::size_t rank = 0; rank < links_.size(); ++rank)
            least = std::min(
                least, cell(static_cast<int>(rank), number).done.load(std::memory_order_relaxed));
        least_done_ = std::max(least_done_, least);
    }
    /// Whether something was not compared yet of operations before this one: those for which not
    /// everybody was needed.
    [[nodiscard]] bool has_uncompared(std::uint64_t before) const noexcept {
        return compared_ + 1 < before;
    }
    /// Compares what is there of that by now.
    [[nodiscard]] std::optional<Stranger> find_stranger(std::uint64_t before) noexcept;
    /// Whether this must be done now, before this member's own cell is used again for `number`.
    [[nodiscard]] bool must_compare(std::uint64_t number) const noexcept {
        return compared_ + commons::depth < number;
    }

    /// This member touches the others' memory no more, of an operation in which they do so.
    void leave(std::uint64_t number) noexcept;

    // --- Waiting -------------------------------------------------------------------------------

    enum class Until : std::uint8_t { come, left };

    /// Waits until a member has come to an operation, or passed it, or has left it, or, without a
    /// rank, until there is room for one; or until there is a stranger among earlier operations. To
    /// be awaited by a `Task`; throws what the group failed with.
    class Wait {
    public:
        Wait(Commons& commons, std::uint64_t number, int rank = -1,
             Until until = Until::come) noexcept
            : commons_(commons), number_(number), rank_(rank), until_(until) {}
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;
        ~Wait() = default;

        [[nodiscard]] bool await_ready();
        void await_suspend(std::coroutine_handle<> waiter);
        void await_resume();

    private:
        friend class Commons;
        [[nodiscard]] bool over() const noexcept;

        Commons& commons_;
        std::uint64_t number_;
        int rank_;
        Until until_;
        std::coroutine_handle<> waiter_;
        std::exception_ptr error_;
    };

    bool poll() override;
    bool descriptor_ready() override { return false; }

    /// The ranks of the group that something waits for.
    [[nodiscard]] std::vector<int> awaited() const;
    /// Ends all waits, those to come as well.
    void fail(const std::exception_ptr& error);

private:
    Commons(const Owner& owner, UniqueFd descriptor, shm::Mapping mapping);

    [[nodiscard]] static std::size_t bytes_for(std::size_t members) noexcept;
    [[nodiscard]] commons::Member& member(int rank) const noexcept {
        return members_[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] commons::Cell& cell(int rank, std::uint64_t number) const noexcept {
        return member(rank).cells[number % commons::depth];
    }
    [[nodiscard]] bool is_free(std::uint64_t number) noexcept {
        return number <= least_done_ + commons::depth || look_for_room(number);
    }
    [[nodiscard]] bool look_for_room(std::uint64_t number) noexcept;
    void enlist(Wait& wait);

    Engine& engine_;
    std::vector<Link*> links_;  // by rank; this may outlast its group
    std::vector<Link*> peers_;  // the others
    int rank_;
    UniqueFd descriptor_;  // of the maker, until all have mapped it
    shm::Mapping mapping_;
    commons::Member* members_;
    std::uint64_t done_ = 0;
    std::vector<std::uint64_t> done_ahead_;  // later ones that are done, in order
    std::uint64_t least_done_ = 0;           // by all members, as far as known
    std::uint64_t shown_ = 0;                // the last one in this member's cells
    std::uint64_t compared_ = 0;             // all fingerprints of the operations up to this one
    std::vector<Wait*> waits_;
    int waiting_for_room_ = 0;  // also those that may go on, until they do
    std::exception_ptr failure_;
};

}  // namespace trireme
