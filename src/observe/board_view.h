#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "link/shm/inbox.h"
#include "observe/board_layout.h"
#include "observe/recorder.h"
#include "trireme/op.h"

namespace trireme {

/// What a rank did or does, as its board shows it.
struct Sighting {
    OpKind kind = OpKind::barrier;
    int peer = -1;
    int tag = 0;
    std::string call;  ///< "all_reduce #42 float32[1024] sum (train.cpp:88)"
    std::string algorithm{};
    std::string group;
    std::uint32_t stream = 0;
    std::uint64_t sequence = 0;
    std::uint64_t number = 0;
    /// What the ranks of a group must agree on, as far as a board shows it.
    std::uint64_t fingerprint = 0;
    std::uint64_t bytes = 0;
    bool under_way = false;
    bool failed = false;
    bool blocking = false;
    std::chrono::steady_clock::time_point begun;
    std::chrono::steady_clock::time_point ended;

    [[nodiscard]] bool is_collective(std::uint32_t of_stream, std::uint64_t number_there) const;
};

/// Of operations, newest first, the one under way that a thread has stood in longest, else the
/// oldest under way; null where none is.
[[nodiscard]] const Sighting* main_one(const std::vector<Sighting>& newest_first);

/// The board of a rank of this host, for reading. Nothing in it is believed further than it can do
/// harm.
class BoardView {
public:
    /// Nothing where there is no such board: the process has ended, is on another host or belongs
    /// to another user.
    [[nodiscard]] static std::optional<BoardView> open(const BoardAddress& address, int rank,
                                                       const shm::Token& token);
    /// Of a rank that is not known yet.
    [[nodiscard]] static std::optional<BoardView> open(const BoardAddress& address);

    /// Of a `board::Board` that an excerpt was laid out in.
    [[nodiscard]] static BoardView of_excerpt(shm::Mapping memory) {
        return BoardView(std::move(memory));
    }

    [[nodiscard]] int rank() const noexcept { return board().rank; }
    [[nodiscard]] int size() const noexcept { return board().size; }
    [[nodiscard]] const shm::Token& token() const noexcept { return board().token; }
    [[nodiscard]] std::string job() const;
    [[nodiscard]] std::chrono::steady_clock::time_point made() const noexcept;
    /// How many operations have begun.
    [[nodiscard]] std::uint64_t begun() const noexcept {
        return board().begun.load(std::memory_order_acquire);
    }

    /// The operations that began last, as many as `most`, and all that are under way; the newest
    /// first.
    [[nodiscard]] std::vector<Sighting> recent(std::size_t most) const;
    /// The newest first.
    [[nodiscard]] std::vector<Sighting> under_way() const;
    /// The operation that ended last. Others may have begun after it.
    [[nodiscard]] std::optional<Sighting> last_ended() const;
    /// A collective.
    [[nodiscard]] std::optional<Sighting> find(std::uint32_t stream, std::uint64_t sequence) const;
    /// Whether the message of this number under a tag, to or from `peer`, was ever begun.
    [[nodiscard]] bool has_message(std::uint32_t stream, OpKind kind, int peer, int tag,
                                   std::uint64_t sequence) const;
    /// Whether the collective of this number on a stream, or a later one, has begun.
    [[nodiscard]] bool has_reached(std::uint32_t stream, std::uint64_t sequence) const;
    /// The last collective that has begun on a stream: 0 for none, nothing where it was long ago.
    [[nodiscard]] std::optional<std::uint64_t> reached(std::uint32_t stream) const;
    [[nodiscard]] std::vector<board::Membership> groups() const;
    [[nodiscard]] const Traffic& traffic(int peer) const noexcept {
        return board().traffic[std::min(static_cast<std::size_t>(peer), board::traffic_peers - 1)];
    }
    [[nodiscard]] std::string name(std::uint32_t number) const;
    [[nodiscard]] bool has_other_callers() const noexcept {
        return board().other_callers.load(std::memory_order_acquire) != 0;
    }
    [[nodiscard]] board::Waits waits() const noexcept;
    [[nodiscard]] board::Circle circle() const noexcept;
    /// What it waits for outside of operations, and since when; nothing where it does not.
    [[nodiscard]] std::optional<std::pair<std::string, std::chrono::steady_clock::time_point>>
    errand() const;
    [[nodiscard]] int pid() const noexcept { return board().pid; }

private:
    explicit BoardView(shm::Mapping mapping) : mapping_(std::move(mapping)) {}

    [[nodiscard]] const board::Board& board() const noexcept {
        return *reinterpret_cast<const board::Board*>(mapping_.data());
    }
    [[nodiscard]] bool read(std::uint64_t number, board::Entry& entry) const noexcept;
    [[nodiscard]] Sighting sighting(const board::Entry& entry) const;
    template <class Wanted>
    [[nodiscard]] std::vector<Sighting> collect(std::size_t most, Wanted wanted) const;

    shm::Mapping mapping_;
};

}  // namespace trireme
