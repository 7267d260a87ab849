#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/mesh.h"

namespace trireme {

class GroupState;
class WorldState;

/// A mesh, behind the light `Mesh` values that refer to it.
struct Mesh::State {
    State(std::shared_ptr<WorldState> world, std::vector<Axis> axes);

    /// The place of an axis; throws for an unknown name.
    [[nodiscard]] std::size_t axis(std::string_view name) const;
    [[nodiscard]] std::vector<int> coordinates() const;
    [[nodiscard]] int rank_at(const std::vector<int>& coordinates) const;
    [[nodiscard]] Group group(const std::vector<std::string_view>& names);

    std::shared_ptr<WorldState> world;
    std::vector<Axis> axes;
    std::mutex mutex;
    std::map<std::vector<std::size_t>, Group> groups;  // by the places of their axes
};

}  // namespace trireme
