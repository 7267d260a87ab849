#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/select.h"
#include "core/engine.h"
#include "link/link.h"
#include "link/shm/commons.h"
#include "observe/bulletin.h"
#include "observe/dump_file.h"
#include "observe/lookout.h"
#include "observe/recorder.h"
#include "trireme/store.h"
#include "trireme/world.h"

namespace trireme {

class GroupState;
class Observation;
class ShmInbox;
struct Rendezvous;

/// A world, behind the `World` values that refer to it: its engine, its links, its live groups.
///
/// Groups keep it in memory; the last `World` shuts it down, and then every group has failed.
class WorldState final : public LinkListener,
                         private Watcher,
                         public std::enable_shared_from_this<WorldState> {
public:
    WorldState(Rendezvous meeting, const WorldOptions& options);
    WorldState(const WorldState&) = delete;
    WorldState& operator=(const WorldState&) = delete;
    ~WorldState() override;

    /// Lets what was started end, fails every group, says goodbye to the peers.
    void shut_down() noexcept;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] Store& store() const noexcept { return *store_; }
    [[nodiscard]] const WorldOptions& options() const noexcept { return options_; }
    [[nodiscard]] Engine& engine() noexcept { return engine_; }
    [[nodiscard]] Recorder& recorder() noexcept { return recorder_; }
    [[nodiscard]] Lookout& lookout() noexcept { return *lookout_; }
    [[nodiscard]] const AlgorithmChoice& choice() const noexcept { return choice_; }
    [[nodiscard]] Link& link(int rank) noexcept { return *links_[static_cast<std::size_t>(rank)]; }

    /// The store of this world, and where a part of its ranks may meet in a part of it.
    [[nodiscard]] const std::shared_ptr<Store>& shared_store() const noexcept { return store_; }
    [[nodiscard]] Rendezvous meeting(std::shared_ptr<Store> store, int rank, int size) const;
    /// Whether the rank has left or is lost. Looks.
    [[nodiscard]] bool is_gone(int rank);
    /// See `World::shrink`.
    [[nodiscard]] std::shared_ptr<WorldState> shrink(Timeout timeout);
    /// See `World::abort`.
    void abort(const std::string& reason);
    /// Why nothing can come from this rank any more: it is gone, or this world was aborted.
    [[nodiscard]] std::optional<Error> obstacle_to(int rank);
    /// The process ends by an exception: tells the peers, as far as that goes at once.
    void speak_last_words(const std::string& thrown) noexcept;

    /// See `World::group`.
    [[nodiscard]] std::shared_ptr<GroupState> make_group(const std::vector<int>& ranks,
                                                         GroupOptions options);

    // --- Under the engine's mutex --------------------------------------------------------------

    /// A group has failed: this rank writes down what it did, where that is wanted.
    void note_failure(const Error& error) {
        if (!first_failure_) first_failure_ = error;
        if (dump_) dump_->note_failure(error);
    }
    void enter(GroupState& group);
    void leave(GroupState& group) noexcept;
    /// Of a group that ends here while other members may not have mapped it yet.
    void keep_until_mapped(std::unique_ptr<Commons> commons);

    void stream_failed(int peer, std::uint32_t stream, const Error& error) override;
    void peer_left(int peer, std::uint32_t stream, const Error& error) override;
    void said_goodbye(int peer, const Error& error) override;
    void link_lost(int peer, const Error& error) override;
    [[nodiscard]] std::string fate(int peer) override;
    void came_unexpected(int peer, const Envelope& envelope) override;
    [[nodiscard]] bool retired(std::uint32_t stream) const noexcept override;

private:
    [[nodiscard]] std::optional<Error> reason_to_leave();
    void refuse_after_fork(const char* call) const;
    void await_mapping();
    void fail_all(const Error& error, bool tell);
    void start_bulletin();
    void look(std::chrono::steady_clock::time_point now) override;
    void look_for_circle();
    [[nodiscard]] bool seen_again(const std::map<int, Stand>& stands,
                                  const std::vector<int>& circle) const;
    [[nodiscard]] bool join_circle(const Stand& own);
    void leave_circle(std::span<const board::Circle::Member> circle, std::string_view text);
    /// What the members of a group agree on when it is made.
    struct Agreement {
        std::uint32_t stream = 0;
        std::unique_ptr<Commons> commons;  // null where the ranks do not share memory
    };
    [[nodiscard]] Agreement agree(const std::vector<int>& ranks, const GroupOptions& group,
                                  std::span<Link* const> links);
    [[nodiscard]] std::string await_key(const std::string& key, int maker, const std::string& text,
                                        Timeout patience);
    /// Throws where there is none of this name.
    [[nodiscard]] const BackendFactory& factory(const std::string& backend) const;
    [[nodiscard]] const std::string& reach_of(int rank);
    [[nodiscard]] bool memory_reachable(const std::vector<int>& ranks);
    [[nodiscard]] std::vector<int> hosts_of(const std::vector<int>& ranks);

    WorldOptions options_;
    int rank_;
    int size_;
    AlgorithmChoice choice_;
    std::shared_ptr<void> server_;     // where this rank holds the store
    std::shared_ptr<Store> store_;     // this world's part of it
    std::shared_ptr<Store> launcher_;  // its store; null: no launcher
    std::vector<int> launched_as_;     // by world rank: what the launcher calls it
    bool store_outlives_ranks_;
    std::string host_;             // of the store
    int exceptions_at_start_ = 0;  // in flight, in the thread that made this world
    Engine engine_;
    Recorder recorder_;
    std::optional<Lookout> lookout_;  // set in the constructor
    std::optional<DumpFile> dump_;    // as well; until the world is shut down
    bool shows_waits_ = false;
    std::vector<board::Circle::Member> circle_;  // found at the last look
    std::vector<std::uint64_t> circle_beats_;    // ... when it was found: of each of its ranks
    std::uint64_t suspected_ = 0;                // this rank's call, once it was said
    std::unique_ptr<Bulletin> bulletin_;         // where there may be other hosts
    std::shared_ptr<ShmInbox> inbox_;
    std::unique_ptr<Observation> observation_;  // null: neither trace nor metrics
    std::vector<std::unique_ptr<Link>> links_;  // by world rank
    std::map<std::uint32_t, GroupState*> groups_;
    std::map<std::uint32_t, Error> early_failures_;  // of groups that are not made here yet
    std::set<std::uint32_t> retired_;
    std::optional<Error> first_failure_;
    bool shut_down_ = false;

    std::mutex shrinking_;
    int shrink_epoch_ = 0;           // the last one that this rank took part in
    std::optional<Error> excluded_;  // the others have gone on without this rank, for good
    std::optional<Error> aborted_;

    std::vector<std::unique_ptr<Commons>> unsettled_;  // of groups that are gone here

    std::mutex making_;                     // one group is made at a time
    std::map<std::vector<int>, int> made_;  // how many groups of the same members there were
    std::map<int, std::string> reach_;      // what each rank says of its way to every rank
};

}  // namespace trireme
