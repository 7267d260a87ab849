#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "observe/clock_offset.h"

namespace trireme {

/// An operation of one rank, on the clock of rank 0.
struct TraceSlice {
    std::uint64_t number = 0;  ///< of all that the rank did
    std::int64_t begun = 0;
    std::int64_t ended = 0;
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint32_t group = 0;  ///< its stream
    std::int32_t rank = 0;    ///< of the world
    std::int32_t peer = -1;   ///< or root: of the group
    std::int32_t tag = 0;
    /// Operations of a group that are under way at the same time lie in different lanes.
    std::int32_t lane = 0;
    std::uint32_t kind = 0;  ///< this and the rest: numbers of `Trace::names`
    std::uint32_t dtype = 0;
    std::uint32_t reduce = 0;
    std::uint32_t algorithm = 0;
    std::uint32_t site = 0;
    bool is_over = false;  ///< it has ended; else the rank's last time is its end
    bool well = false;
};

struct TraceRank {
    std::string host;
    std::int64_t pid = 0;
    std::int64_t last = 0;     ///< what is known of it ends here
    std::uint64_t missed = 0;  ///< operations that were not recorded
    std::vector<std::pair<std::int64_t, std::uint64_t>> gaps;  ///< when, and how many
    bool closed = false;                                       ///< it came to its end
    std::vector<ClockOffset> offsets;                          ///< to the clock of rank 0
};

struct TraceGroup {
    std::string name;
    std::vector<int> ranks;  ///< of the world
};

/// What all ranks of a world did.
struct Trace {
    std::map<int, TraceRank> ranks;
    std::map<std::uint32_t, TraceGroup> groups;
    std::vector<TraceSlice> slices;  ///< by rank, group and begin
    std::vector<std::string> names;
    std::uint64_t unreadable = 0;  ///< lines

    [[nodiscard]] const std::string& name(std::uint32_t number) const { return names[number]; }
};

/// Reads the parts of a trace. Lines that are none, as the last one of a rank that died may be, are
/// counted and left out. Throws `Error(system)` where a part cannot be read or has no sane first
/// line.
[[nodiscard]] Trace read_trace(const std::vector<std::filesystem::path>& parts);

}  // namespace trireme
