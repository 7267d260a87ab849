#pragma once

#include <string>
#include <vector>

#include "bench_options.h"
#include "ground.h"

namespace trireme::bench {

/// How one contestant is started: its ranks as processes of their own, or a launcher that starts
/// them.
struct Entry {
    std::string name;  ///< "openmpi-ucx"
    std::string peer;  ///< whose times these are: "openmpi"; of ours "trireme"
    /// The command of each process to start.
    std::vector<std::vector<std::string>> commands;
    /// "NAME=value" of each of them.
    std::vector<std::vector<std::string>> environments;

    [[nodiscard]] bool is_ours() const { return peer == "trireme"; }
};

/// Throws `UsageError` where a peer that was asked for is not there, with what to install.
void require_peers(const Options& options);

/// Ours first, then the peers' entries for so many ranks. Of a library that has more than one way
/// to move data, each is an entry, and a cell's figure is that of the best.
[[nodiscard]] std::vector<Entry> line_up(const Options& options, int ranks, const Ground& ground);

}  // namespace trireme::bench
