#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/group.h"

namespace trireme {

/// One axis of a mesh: its name and how many ranks lie along it.
struct Axis {
    std::string name;
    int size;
};

/// The ranks of a world laid out as a box with named axes, the last axis varying fastest:
/// for {{"dp", D}, {"pp", P}, {"tp", T}} rank = d·(P·T) + p·T + t.
/// Counterpart: torch DeviceMesh, MPI_Cart_create.
///
/// A light value: copies share the groups. A group is made when it is first asked for, by its
/// members alone.
class Mesh {
public:
    /// How many ranks lie along `axis`; throws `invalid_argument` for an unknown name, listing the
    /// axes.
    [[nodiscard]] int size(std::string_view axis) const;
    /// This rank's coordinate along `axis`.
    [[nodiscard]] int coordinate(std::string_view axis) const;
    [[nodiscard]] std::span<const Axis> axes() const noexcept;
    /// The world rank at `coordinates`, one per axis in the order of `axes()`.
    [[nodiscard]] int rank_at(std::span<const int> coordinates) const;

    /// The ranks that differ from this one along `axis` only.
    [[nodiscard]] Group group(std::string_view axis) const;
    /// The ranks that differ from this one along the named axes only, ordered as in the mesh.
    [[nodiscard]] Group group(std::initializer_list<std::string_view> axes) const;

private:
    friend class World;
    struct State;
    explicit Mesh(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace trireme
