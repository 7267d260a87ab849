#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trireme {

/// Where a rank stands: in a call that cannot go on without others.
struct Stand {
    std::uint64_t number = 0;  ///< of the operation, as the rank counts
    std::string call;
    std::string group;
    std::vector<int> needs{};  ///< world ranks, each of which must make a call first
    bool any = false;          ///< one of them is enough
    /// Of a rank on another host, the number of the excerpt that shows this; else 0.
    std::uint64_t beat = 0;
    bool certain = true;  ///< the rank has no other thread that could make a call
};

/// The ranks that wait for one another in a circle, beginning with `from`, which is one of them or
/// waits for one of them; empty where there is none.
///
/// A rank that needs all of several others can never go on if one of them cannot; one that needs
/// any of them, if none can. Those that cannot are what is left when, again and again, every rank
/// is taken away that need not wait for one of those still there.
[[nodiscard]] std::vector<int> find_circle(std::map<int, Stand> stands, int from);

}  // namespace trireme
