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
#include "observe/lookout.h"
#include "observe/recorder.h"
#include "trireme/store.h"
#include "trireme/world.h"

namespace trireme {

class GroupState;
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

    /// See `World::group`.
    [[nodiscard]] std::shared_ptr<GroupState> make_group(const std::vector<int>& ranks,
                                                         GroupOptions options);

    // --- Under the engine's mutex --------------------------------------------------------------

    void enter(GroupState& group);
    void leave(GroupState& group) noexcept;

    void stream_failed(int peer, std::uint32_t stream, const Error& error) override;
    void peer_left(int peer, std::uint32_t stream, const Error& error) override;
    void link_lost(int peer, const Error& error) override;
    void came_unexpected(int peer, const Envelope& envelope) override;
    [[nodiscard]] bool retired(std::uint32_t stream) const noexcept override;

private:
    void look(std::chrono::steady_clock::time_point now) override;
    void look_for_circle();
    [[nodiscard]] bool join_circle(const Stand& own);
    void leave_circle(std::span<const board::Circle::Member> circle, std::string_view text);
    [[nodiscard]] std::uint32_t agree_on_stream(const std::vector<int>& ranks,
                                                const GroupOptions& group);
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
    std::shared_ptr<void> server_;  // where this rank holds the store
    std::shared_ptr<Store> store_;  // this world's part of it
    Engine engine_;
    Recorder recorder_;
    std::optional<Lookout> lookout_;  // set in the constructor
    bool shows_waits_ = false;
    std::vector<board::Circle::Member> circle_;  // found at the last look
    std::uint64_t suspected_ = 0;                // this rank's call, once it was said
    std::shared_ptr<ShmInbox> inbox_;
    std::vector<std::unique_ptr<Link>> links_;  // by world rank
    std::map<std::uint32_t, GroupState*> groups_;
    std::map<std::uint32_t, Error> early_failures_;  // of groups that are not made here yet
    std::set<std::uint32_t> retired_;
    bool shut_down_ = false;

    std::mutex making_;                     // one group is made at a time
    std::map<std::vector<int>, int> made_;  // how many groups of the same members there were
    std::map<int, std::string> reach_;      // what each rank says of its way to every rank
};

}  // namespace trireme
