#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "observe/board_view.h"
#include "observe/process_state.h"

namespace trireme {

/// What one rank of a world did and does, taken from its board at one moment, to be printed, stored
/// and compared with others'. Times are of this process's steady clock; in JSON they are
/// nanoseconds since 1970, so that reports of several hosts can be compared.
struct RankReport {
    using Clock = std::chrono::steady_clock;

    struct Membership {
        std::uint32_t stream = 0;
        std::string group;
        int rank = -1;  ///< in the group
        int size = 0;
        std::optional<std::uint64_t> reached{};  ///< its last collective; nothing: not known
    };
    /// The operation of this number needs something of this world rank.
    struct Wait {
        std::uint64_t number = 0;
        int rank = -1;
        bool any = false;  ///< it, or another one
    };
    struct PeerTraffic {
        int peer = -1;
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    struct Errand {
        std::string text;
        Clock::time_point since;
    };

    std::string job{};    ///< the launcher's id; empty without one
    std::string world{};  ///< the same for all ranks of a world; empty until they have met
    int rank = -1;
    int size = 0;
    int pid = 0;
    std::string host{};
    ProcessState state = ProcessState::running;
    Clock::time_point taken{};
    Clock::time_point made{};
    std::uint64_t begun = 0;
    std::string error{};  ///< the first failure of a group, where that made the report
    std::optional<Errand> errand{};
    std::vector<Membership> groups{};
    std::vector<Sighting> operations{};  ///< the newest first
    std::vector<Wait> waits{};
    std::vector<PeerTraffic> traffic{};
};

/// What a board shows now; `pid` is its owner as seen from here. Of operations the last `most`, and
/// all that are under way.
[[nodiscard]] RankReport make_report(const BoardView& board, int pid, std::size_t most);

/// A name of the world that does not tell its token.
[[nodiscard]] std::string world_name(const shm::Token& token);

/// "is in all_reduce #42 ... on group "tp0" for 3.2 s and waits for rank 1", "is in user code for
/// ..., after ...".
[[nodiscard]] std::string describe_doing(const RankReport& report);

void to_json(nlohmann::ordered_json& json, const RankReport& report);

/// Throws `Error(invalid_argument)` where the text is not such JSON.
[[nodiscard]] RankReport parse_report(const std::string& text);

}  // namespace trireme
