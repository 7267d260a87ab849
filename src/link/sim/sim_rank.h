#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "link/link.h"
#include "link/sim/cost_model.h"
#include "link/sim/sim_wire.h"

namespace trireme {

struct SimRank;

/// One end of a link between two simulated ranks.
struct SimEnd {
    SimRank* rank = nullptr;
    bool leaves_host = false;
    SimWire* wire = nullptr;  ///< the link's
    std::optional<Link> link;
};

/// A virtual rank: its clock, its ports, its ends of links, and what it has done so far.
struct SimRank {
    int host = 0;

    SimTime now{};       ///< its processor is busy until then
    SimTime out_free{};  ///< its port to the network is busy until then
    SimTime in_free{};

    int depth = 0;  ///< of the deepest message that it took up
    std::size_t bytes = 0;
    std::size_t bytes_between_hosts = 0;
    std::size_t messages = 0;

    std::unordered_map<int, SimEnd> ends;  ///< by peer

    void count_message() noexcept { ++messages; }
    void take_up(int message_depth) noexcept { depth = std::max(depth, message_depth); }
};

}  // namespace trireme
