#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "algorithm/call.h"
#include "core/engine.h"
#include "core/op_record.h"
#include "group/last_calls.h"
#include "link/link.h"
#include "link/shm/commons.h"
#include "observe/board_layout.h"
#include "reduce/combine.h"
#include "trireme/backend.h"
#include "trireme/error.h"
#include "trireme/op.h"
#include "trireme/operand.h"
#include "trireme/work.h"

namespace trireme {

struct Algorithm;
class BackendRunner;
class Coalescing;
class Operation;
class WorldState;

/// What a group is made of.
struct GroupPlan {
    std::string name;
    std::uint32_t stream = 0;       ///< agreed by all members, unique in the world
    std::vector<int> ranks;         ///< world ranks
    int rank = -1;                  ///< this process's place among them
    bool memory_reachable = false;  ///< between every two members
    std::vector<int> hosts;         ///< of each member, numbered from 0 in rank order
    Timeout timeout{0};             ///< of operations that have none of their own; 0: the world's
    Timeout patience{0};            ///< before it warns of a wait; 0: the world's
    bool reproducible = false;      ///< reductions in rank order only
    std::vector<Link*> links{};     ///< to each member
    std::unique_ptr<Commons> commons{};      ///< memory that all members map; may be null
    std::unique_ptr<BackendRunner> backend;  ///< instead of links and algorithms; may be null
};

/// What is known of a plain call; mostly one like it comes again.
struct ShortCall {
    OpKind kind = OpKind::barrier;
    Buffer in{};
    Buffer out{};
    ReduceOp reduce = sum;
    int peer = -1;
    const char* file = nullptr;
    unsigned line = 0;
    std::uint64_t fingerprint = 0;
    const Algorithm* algorithm = nullptr;  ///< null: it goes the long way
    OpRecord record;                       ///< without its number
    board::Entry entry;                    ///< what the board shows of it
    Combine combine;
    bool needs_all = false;    ///< or only what `peer` brings
    std::size_t sent = 0;      ///< bytes that go to each other rank
    std::size_t received = 0;  ///< ... that come from each that it needs
    bool known = false;
};

/// A blocking call that the short way has begun and leaves to the long one.
struct Opening {
    std::unique_ptr<const OpRecord> record;  ///< null, and rarely needed: it is long to fill
    const Algorithm* algorithm = nullptr;    ///< null: it has not begun
    std::uint64_t shown = 0;                 ///< its number on the board
    Engine::Clock::time_point begun;
};

/// A group, behind the light `Group` values that refer to it.
class GroupState : public std::enable_shared_from_this<GroupState> {
public:
    /// Registers itself with the world, which must be alive.
    GroupState(std::shared_ptr<WorldState> world, GroupPlan plan);
    GroupState(const GroupState&) = delete;
    GroupState& operator=(const GroupState&) = delete;
    ~GroupState();

    [[nodiscard]] int rank() const noexcept { return plan_.rank; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(plan_.ranks.size()); }
    [[nodiscard]] const std::string& name() const noexcept { return plan_.name; }
    [[nodiscard]] std::span<const int> ranks() const noexcept { return plan_.ranks; }
    [[nodiscard]] int world_rank() const noexcept;
    [[nodiscard]] std::uint32_t stream() const noexcept { return plan_.stream; }
    /// The algorithm for an operation.
    [[nodiscard]] const Algorithm& select(const Op& op, const OpRecord& record) const;
    [[nodiscard]] Engine& engine() const noexcept;

    /// Collects this thread's calls instead of running them; false where that happens already.
    [[nodiscard]] bool open_scope(Coalescing& calls);
    void close_scope(Coalescing& calls) noexcept;
    /// Where this thread's blocking calls are to go instead of being run; null: nowhere.
    [[nodiscard]] Coalescing* scope() const noexcept;

    /// Blocking.
    int run(const Op& op, const Limits& limits);
    /// Started.
    [[nodiscard]] Work start(const Op& op, std::optional<Operand> in, std::optional<Operand> out,
                             const Limits& limits);
    /// To be started by `Execution::restart`.
    [[nodiscard]] std::shared_ptr<Execution> prepare(const Op& op, std::optional<Operand> in,
                                                     std::optional<Operand> out,
                                                     const Limits& limits);
    void abort(const std::string& reason);
    [[nodiscard]] WorldState& world() const noexcept { return *world_; }

    // --- Under the engine's mutex --------------------------------------------------------------

    [[nodiscard]] const Place& place() const noexcept { return place_; }
    /// Null: Trireme's own links.
    [[nodiscard]] Backend* backend() const noexcept;

    /// Numbers an operation that begins, and launches it: at once, or when its turn has come. A
    /// group has so many collectives under way at most, as each of them takes working memory and
    /// publications; a receive from any source waits for a message.
    void admit(Operation& operation);

    /// As `admit`, of one that the short way has numbered and shown.
    void continue_opened(Operation& operation);

    /// A message came that no receive waits for: one from any source may.
    void message_came(int peer, const Envelope& envelope);

    /// The record of another collective than `of`, of the last ones, by the lower half of its
    /// number; null where it is that, or not known any more.
    [[nodiscard]] const OpRecord* earlier(std::uint32_t sequence,
                                          const OpRecord& of) const noexcept {
        const OpRecord& last = last_.at(sequence);
        const bool found = static_cast<std::uint32_t>(last.sequence) == sequence;
        return found && last.sequence != of.sequence ? &last : nullptr;
    }

    [[nodiscard]] std::vector<int> other_ranks() const;
    /// Of an operation that starts now.
    [[nodiscard]] Engine::Clock::time_point deadline(const Op& op, Timeout timeout,
                                                     Engine::Clock::time_point now) const;
    /// Whether all members that share its memory have mapped it.
    [[nodiscard]] bool is_settled() const noexcept { return !commons_ || commons_->is_settled(); }
    [[nodiscard]] bool failed() const noexcept { return failure_.has_value(); }
    [[nodiscard]] std::exception_ptr failure() const { return std::make_exception_ptr(*failure_); }
    void remove(Operation& operation) noexcept;

    /// Fails the group for good; only the first call counts. All that is under way ends with
    /// `error`; `tell`: the other members are told.
    void fail(const Error& error, bool tell);

    /// Fails the group where a member has shown another call in its cell than this rank made.
    void compare_cells();

    /// Fails the group because another member says that it has failed.
    void fail_reported(int by, const Error& error);

    /// Fails the group because of something outside it, naming what it was doing, and tells the
    /// other members.
    void fail_under_way(const Error& cause);

    /// A member has left the world: fails the group where something waits for what that one has
    /// not brought.
    void member_left(int world_rank, const Error& error);

    /// What to say of an operation that waits, and which world ranks are to blame for that.
    struct Complaint {
        std::string text;
        std::vector<int> ranks;
    };
    [[nodiscard]] Complaint complain(const Operation& operation,
                                     Engine::Clock::time_point now) const;

    /// Adds to `waits` what this group waits for, and warns of what has waited too long.
    void look(Engine::Clock::time_point now, std::vector<board::Wait>& waits);

    /// Fails the group if the operation of this number on the board is its own.
    bool fail_in_circle(std::uint64_t shown_number, const Error& error);

    /// The number of its name on the board.
    [[nodiscard]] std::uint16_t shown_name() const noexcept { return shown_name_; }

    /// Compares a collective message that no receive waits for with what this rank is doing, or
    /// did.
    void check_early(int peer, const Envelope& envelope);

    /// The error for a message that is not of this rank's call, or, of the same call, not of the
    /// `expected` bytes.
    [[nodiscard]] Error mismatch(const OpRecord& own, int peer, const Envelope& theirs,
                                 std::optional<std::size_t> expected = std::nullopt) const;

private:
    /// Tries the short way; false: it takes the long one, from where `opening` stands.
    [[nodiscard]] bool run_short(const Op& op, Opening& opening);
    void refuse_after_fork() const;
    static constexpr int most_collectives = 64;

    /// Collectives are numbered per group, messages per pair and tag.
    void number(OpRecord& record);
    /// Fails the group, and throws, where a peer's message to the operation of this number has come
    /// already and is not of this call.
    void refuse_strangers(Operation& operation);
    [[nodiscard]] std::vector<int> awaited_ranks() const;
    [[nodiscard]] std::vector<int> awaited_ranks(const Operation& operation) const;
    [[nodiscard]] std::vector<int> missing_ranks(const Operation& operation) const;
    void refuse_failed(const OpRecord& record) const;
    void learn(const Op& op, ShortCall& known);
    [[nodiscard]] std::uint32_t next_message(int peer, int tag) const;
    [[nodiscard]] int find_source(int tag);
    void take_message(Operation& operation, int peer);
    void refuse_lonely(const Op& op);
    void refuse_what_backend_cannot(const Op& op) const;

    std::shared_ptr<WorldState> world_;
    mutable std::mutex scopes_mutex_;
    std::vector<Coalescing*> scopes_;  // one per thread
    std::atomic<bool> has_scopes_{false};
    GroupPlan plan_;
    Place place_;
    std::unique_ptr<Commons> commons_;
    bool several_hosts_ = false;
    std::array<ShortCall, 16> short_calls_{};  // the last ones, by kind, root and place
    std::uint16_t shown_name_ = 0;
    std::uint64_t collectives_ = 0;
    LastCalls last_;
    std::map<std::tuple<OpKind, int, int>, std::uint64_t> messages_;  // by direction, peer, tag
    std::vector<Operation*> under_way_;                               // launched, and waiting ones
    std::deque<Operation*> queued_;     // collectives whose turn has not come
    std::vector<Operation*> from_any_;  // receives from any source without a message yet
    int running_ = 0;                   // collectives that are launched
    bool launching_ = false;
    int first_source_ = 0;  // where to look first for a message from any source
    void fail_all(const Error& error, const Error* told);

    std::optional<Error> failure_;
};

}  // namespace trireme
