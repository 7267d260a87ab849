#pragma once

#include <optional>
#include <string>
#include <utility>

#include "trireme/types.h"

namespace trireme {

/// Settings of a group; must be the same on all its members. A name alone will do.
struct GroupOptions {
    GroupOptions() = default;
    // Wanted: `world.group({0, 1}, "pair")`.
    GroupOptions(std::string group_name) : name(std::move(group_name)) {}  // NOLINT(*-explicit-*)
    GroupOptions(const char* group_name) : name(group_name) {}             // NOLINT(*-explicit-*)

    std::string name;     ///< for texts; empty: the list of ranks
    Timeout timeout{0};   ///< of its operations; 0: the world's
    Timeout patience{0};  ///< before it warns of a wait: see `WorldOptions`; 0: the world's
    std::string backend;  ///< a name of `WorldOptions::backends`; empty: Trireme's own
    /// Whether reductions are folded in rank order; not set: as the world's. See
    /// docs/operations.md.
    std::optional<bool> reproducible;
};

}  // namespace trireme
