#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/op_info.h"
#include "core/op_record.h"
#include "core/unique_fd.h"
#include "link/shm/inbox.h"
#include "link/shm/sealed_memory.h"
#include "observe/board_layout.h"

namespace trireme {

/// Where a rank's board is.
using BoardAddress = shm::DescriptorAddress;

/// A rank's flight recorder: its last operations, and what it waits for, in memory that its peers
/// and tools can read: see `board_layout.h`. Always on.
///
/// All but the constructor under the engine's mutex.
class Recorder {
public:
    using Clock = std::chrono::steady_clock;

    /// Of a rank in a world of `size`; 0: not known. Throws `Error(system)` where the kernel gives
    /// no memory.
    explicit Recorder(int rank, int size = 0);

    [[nodiscard]] BoardAddress address() const noexcept;
    /// For readers in this process, which need no token.
    [[nodiscard]] const board::Board& shown() const noexcept { return board(); }
    /// What readers must know to be sure that they have found this board.
    void set_token(const shm::Token& token) noexcept { board().token = token; }

    /// The number of a name, the same for the same; 0, an empty one, when the table is full.
    [[nodiscard]] std::uint16_t number_of(std::string_view name);

    /// This rank is a member of a group, as far as there is room; returns the number of its name.
    std::uint16_t enter_group(std::uint32_t stream, std::string_view name, int rank, int size);
    void leave_group(std::uint32_t stream) noexcept;

    /// Where to count what is exchanged with a world rank.
    [[nodiscard]] Traffic& traffic(int peer) noexcept {
        return board().traffic[std::min(static_cast<std::size_t>(peer), board::traffic_peers - 1)];
    }

    /// An operation begins; returns its number.
    std::uint64_t begin(const OpRecord& record, std::uint32_t stream, std::uint16_t group,
                        bool blocking, Clock::time_point now) {
        return begin(entry_of(record, stream, group, blocking), record.sequence, now);
    }
    /// As above in two steps: what is the same for all calls like this one, and the rest.
    [[nodiscard]] board::Entry entry_of(const OpRecord& record, std::uint32_t stream,
                                        std::uint16_t group, bool blocking);
    std::uint64_t begin(const board::Entry& entry, std::uint64_t sequence,
                        Clock::time_point now) noexcept {
        board::Board& own = board();
        const std::uint64_t number = own.begun.load(std::memory_order_relaxed) + 1;
        own.ring[number % board::slots].write(entry, number, nanoseconds(now), sequence);
        own.begun.store(number, std::memory_order_release);
        if (!info(static_cast<OpKind>(entry.kind)).point_to_point) {
            own.progress[entry.stream % own.progress.size()].store(
                std::uint64_t{entry.stream} << 32 | (sequence & 0xffffffff),
                std::memory_order_release);
        }
        if (entry.blocking != 0) note_thread();
        return number;
    }
    /// It has ended; `record` as before, with its algorithm.
    void end(std::uint64_t number, bool well, Clock::time_point now) noexcept {
        // More operations than there are slots may have begun meanwhile.
        if (board().begun.load(std::memory_order_relaxed) - number >= board::slots) return;
        // The ring is longer than a first-level cache.
        __builtin_prefetch(&board().ring[(number + 1) % board::slots], 1);
        const std::int64_t time = nanoseconds(now);
        board().ring[number % board::slots].write_end(well ? time : -time);
    }

    /// A thread begins or ends to wait in an operation that was started.
    void set_awaited(std::uint64_t number, bool awaited) noexcept;
    /// Something else than the thread that waits may make calls.
    void show_other_callers() noexcept;

    /// What operations wait for, as far as there is room.
    void show_waits(std::span<const board::Wait> waits, Clock::time_point now) noexcept;

    /// What this rank waits for outside of operations; empty: for nothing any more.
    void show_errand(std::string_view text, Clock::time_point now) noexcept;
    /// That this rank gives up, as one of a circle: for the others, as far as there is room.
    void show_circle(std::span<const board::Circle::Member> members,
                     std::string_view text) noexcept;

private:
    [[nodiscard]] board::Board& board() const noexcept {
        return *reinterpret_cast<board::Board*>(mapping_.data());
    }
    void note_thread() noexcept {
        const void* const here = this_thread();
        if (thread_ == nullptr) thread_ = here;
        if (thread_ != here) show_other_callers();
    }
    // What tells threads apart, and costs an instruction.
    [[nodiscard]] static const void* this_thread() noexcept { return __builtin_thread_pointer(); }
    [[nodiscard]] static std::int64_t nanoseconds(Clock::time_point time) noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch())
            .count();
    }
    [[nodiscard]] std::uint16_t number_of_literal(const char* text);

    struct Literal {
        const char* text = nullptr;
        std::uint16_t number = 0;
    };

    const void* thread_ = nullptr;  // one that makes blocking calls
    UniqueFd descriptor_;
    shm::Mapping mapping_;
    std::map<std::string, std::uint16_t, std::less<>> numbers_;
    // Call sites and algorithms are literals: known by their address, most of the time.
    std::array<Literal, 64> literals_{};
    std::array<std::uint32_t, board::most_groups> streams_{};  // of the groups that are shown
};

}  // namespace trireme
