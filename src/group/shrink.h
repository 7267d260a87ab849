#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/store.h"

namespace trireme {

class WorldState;

/// The agreement of a world's ranks on which of them still live, for `World::shrink`.
///
/// **How.** It goes in epochs, over the world's store alone, for links may be broken. Every rank
/// that calls says that it is here. Once each member is here, or gone, or the time has passed,
/// whoever sees that first writes down the list of those that are: `compare_set` lets one list win,
/// and all adopt it. Whoever is not on it has come too late. Then those on the list join a new
/// world; the last one that has joined says so. If one of them dies before that, somebody says that
/// the epoch has failed instead, `compare_set` deciding again, and the next epoch starts from its
/// list. So either all that the last list names are in the new world, or none is.
class Shrinking {
public:
    using Clock = std::chrono::steady_clock;

    /// `epoch` is the last one that this rank took part in; `patience` is for others to call.
    Shrinking(WorldState& world, int& epoch, Timeout patience);

    /// Throws `Error`: `aborted` where this rank is not on the list, `rendezvous` where the ranks
    /// cannot connect although all live, and whatever keeps this rank from making a world.
    [[nodiscard]] std::shared_ptr<WorldState> run();

private:
    [[nodiscard]] std::string key(const std::string& what) const;
    [[nodiscard]] bool exists(const std::string& key) const;
    [[nodiscard]] std::vector<int> decide();
    [[nodiscard]] std::shared_ptr<WorldState> join();
    [[nodiscard]] std::string outcome();
    [[nodiscard]] int first_gone() const;

    WorldState& world_;
    Store& store_;
    int& epoch_;
    Timeout patience_;            // for others to call
    Clock::time_point deadline_;  // of what goes on
    std::vector<int> members_;
    std::string problem_;  // why the last epoch failed
};

}  // namespace trireme
