#include "trireme/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "group/mesh_state.h"
#include "group/world_state.h"
#include "trireme/error.h"

namespace trireme {

namespace {

std::string describe(const std::vector<Axis>& axes) {
    std::vector<std::string> parts;
    for (const Axis& axis : axes) parts.push_back(fmt::format("{}={}", axis.name, axis.size));
    return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace

Mesh::State::State(std::shared_ptr<WorldState> in_world, std::vector<Axis> in_axes)
    : world(std::move(in_world)), axes(std::move(in_axes)) {
    std::int64_t ranks = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i].size < 1 || axes[i].name.empty())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("mesh {}: every axis needs a name and at least one rank",
                                    describe(axes)));
        for (std::size_t j = 0; j < i; ++j)
            if (axes[j].name == axes[i].name)
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("mesh {}: two axes are named \"{}\"", describe(axes),
                                        axes[i].name));
        ranks = std::min<std::int64_t>(ranks * axes[i].size, 1'000'000'000);
    }
    if (ranks != world->size())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("mesh {} has {} ranks, but the world has {}", describe(axes), ranks,
                                world->size()));
}

std::size_t Mesh::State::axis(std::string_view name) const {
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i].name == name) return i;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("mesh {} has no axis \"{}\"", describe(axes), name));
}

std::vector<int> Mesh::State::coordinates() const {
    std::vector<int> place(axes.size());
    int rest = world->rank();
    for (std::size_t i = axes.size(); i-- > 0;) {
        place[i] = rest % axes[i].size;
        rest /= axes[i].size;
    }
    return place;
}

int Mesh::State::rank_at(const std::vector<int>& place) const {
    int rank = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) rank = rank * axes[i].size + place[i];
    return rank;
}

Group Mesh::State::group(const std::vector<std::string_view>& names) {
    std::vector<std::size_t> varying;
    for (const std::string_view name : names) varying.push_back(axis(name));
    std::sort(varying.begin(), varying.end());
    if (std::adjacent_find(varying.begin(), varying.end()) != varying.end())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a group along [{}] names an axis twice", fmt::join(names, ", ")));

    const std::lock_guard lock(mutex);
    if (const auto found = groups.find(varying); found != groups.end()) return found->second;

    // All combinations of the varying coordinates, the last axis fastest.
    std::vector<int> place = coordinates();
    for (const std::size_t i : varying) place[i] = 0;
    std::vector<int> ranks;
    for (bool more = true; more;) {
        ranks.push_back(rank_at(place));
        more = false;
        for (std::size_t k = varying.size(); k-- > 0 && !more;) {
            int& coordinate = place[varying[k]];
            more = ++coordinate < axes[varying[k]].size;
            if (!more) coordinate = 0;
        }
    }
    std::vector<std::string_view> in_order;
    for (const std::size_t i : varying) in_order.push_back(axes[i].name);
    const Group made(world->make_group(ranks, fmt::format("{}", fmt::join(in_order, "-"))));
    return groups.emplace(varying, made).first->second;
}

int Mesh::size(std::string_view axis) const { return state_->axes[state_->axis(axis)].size; }

int Mesh::coordinate(std::string_view axis) const {
    return state_->coordinates()[state_->axis(axis)];
}

std::span<const Axis> Mesh::axes() const noexcept { return state_->axes; }

int Mesh::rank_at(std::span<const int> coordinates) const {
    const std::vector<int> place(coordinates.begin(), coordinates.end());
    bool inside = place.size() == state_->axes.size();
    for (std::size_t i = 0; inside && i < place.size(); ++i)
        inside = place[i] >= 0 && place[i] < state_->axes[i].size;
    if (!inside)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("mesh {} has no place [{}]", describe(state_->axes),
                                fmt::join(place, ", ")));
    return state_->rank_at(place);
}

Group Mesh::group(std::string_view axis) const { return state_->group({axis}); }

Group Mesh::group(std::initializer_list<std::string_view> axes) const {
    return state_->group(axes);
}

}  // namespace trireme
