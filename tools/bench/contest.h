#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_options.h"
#include "cell_result.h"
#include "ground.h"
#include "job.h"

namespace trireme::bench {

/// All contestants with one number of ranks, started once and kept, of which one at a time is at
/// work: the others sleep in a read.
class Contest {
public:
    /// Told what is going on: "all_reduce 1 MiB: gloo, turn 2 of 3".
    using Progress = std::function<void(const std::string& text)>;

    /// Starts everybody. Those that do not come up within a minute are out.
    Contest(const Options& options, int ranks, const Ground& ground, Progress progress);

    /// Measures a cell on all who can do it, in turns: A B A B, so that a machine that becomes
    /// slower becomes so for all. One result for each kind of buffers of ours; the peers have the
    /// user's.
    [[nodiscard]] std::vector<CellResult> measure(const Cell& cell);

    /// Why contestants are out, each said once.
    [[nodiscard]] std::vector<std::string> take_failures();
    [[nodiscard]] bool ours_failed() const;

private:
    struct Lane;

    void await_all(const Ground& ground);
    void hear_newcomers(int listener);
    [[nodiscard]] bool introduce(Channel& newcomer);
    void take_turn(Lane& lane, bool check);
    [[nodiscard]] std::vector<Lane> lanes_of(const Cell& cell);
    [[nodiscard]] CellResult summarize(const Lane& ours, const std::vector<Lane>& lanes) const;

    const Options& options_;
    int ranks_;
    Progress progress_;
    std::vector<std::unique_ptr<Job>> jobs_;
    std::vector<Channel> newcomers_;  // have connected, and not yet said who they are
    std::vector<std::string> told_;
};

}  // namespace trireme::bench
