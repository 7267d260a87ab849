#include "observe/circle.h"

#include <algorithm>

namespace trireme {

std::vector<int> find_circle(std::map<int, Stand> stands, int from) {
    const auto stuck = [&](int rank) { return stands.contains(rank); };
    const auto may_go_on = [&](const auto& entry) {
        const Stand& stand = entry.second;
        return stand.any ? stand.needs.empty() || !std::ranges::all_of(stand.needs, stuck)
                         : !std::ranges::any_of(stand.needs, stuck);
    };
    while (std::erase_if(stands, may_go_on) != 0) {
    }
    std::vector<int> path;
    if (!stuck(from)) return path;
    int rank = from;
    while (std::ranges::find(path, rank) == path.end()) {
        path.push_back(rank);
        rank = *std::ranges::find_if(stands.at(rank).needs, stuck);
    }
    // What leads to the circle is no part of it.
    path.erase(path.begin(), std::ranges::find(path, rank));
    return path;
}

}  // namespace trireme
