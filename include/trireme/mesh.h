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

/// What lies beyond the ends of an axis.
enum class Ends {
    open,      ///< nothing: the first rank has no rank before, the last none after
    periodic,  ///< the other end
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

    /// Swaps data with both neighbours on `axis`: sends `to_before` to the rank before and
    /// `to_after` to the rank after, and receives theirs into `from_before` and `from_after`; where
    /// there is none, nothing is sent and `from_...` stays as it is. Counts must agree pairwise.
    /// Blocks. Counterpart: MPI_Neighbor_alltoallv on a Cartesian communicator, MPI_Cart_shift.
    template <OperandLike ToBefore, OperandLike ToAfter, WritableOperand FromBefore,
              WritableOperand FromAfter>
    void exchange(std::string_view axis, ToBefore&& to_before, ToAfter&& to_after,
                  FromBefore&& from_before, FromAfter&& from_after, Ends ends = Ends::open,
                  Site site = Site::current()) const {
        // Tags apart from those that users choose; on an axis of two both neighbours are the same
        // rank, and only the direction tells the messages apart.
        constexpr Tag upwards{0x7ffffffe};
        constexpr Tag downwards{0x7fffffff};
        const Group line = group(axis);
        const int n = line.size();
        const bool has_before = ends == Ends::periodic || line.rank() > 0;
        const bool has_after = ends == Ends::periodic || line.rank() + 1 < n;
        const Peer before{(line.rank() - 1 + n) % n};
        const Peer after{(line.rank() + 1) % n};
        line.coalesce([&] {
            if (has_before) line.recv(from_before, before, upwards, site);
            if (has_after) line.recv(from_after, after, downwards, site);
            if (has_before) line.send(to_before, before, downwards, site);
            if (has_after) line.send(to_after, after, upwards, site);
        });
    }

private:
    friend class World;
    struct State;
    explicit Mesh(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace trireme
