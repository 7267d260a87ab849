#pragma once

#include <chrono>
#include <compare>
#include <source_location>

namespace trireme {

/// The rank, within the group, from which a rooted operation starts or at which it ends.
struct Root {
    constexpr explicit Root(int group_rank) noexcept : rank(group_rank) {}
    int rank;
};

/// The other rank, within the group, of a send or a receive.
struct Peer {
    constexpr explicit Peer(int group_rank) noexcept : rank(group_rank) {}
    int rank;
};

/// In place of the `Peer` of a receive: whichever rank's message comes first.
struct AnySource {
    static constexpr int rank = -2;  ///< stands for it in `Op::peer`
};
inline constexpr AnySource any_source{};

/// Tells apart messages between the same two ranks; 0 or more.
struct Tag {
    constexpr explicit Tag(int number) noexcept : value(number) {}
    int value;
    [[nodiscard]] constexpr auto operator<=>(const Tag&) const noexcept = default;
};

inline constexpr Tag default_tag{0};

using Timeout = std::chrono::milliseconds;

/// How long a call may take, and how long it may wait before this rank warns; 0: the group's.
struct Limits {
    Timeout timeout{0};
    Timeout patience{0};
};

/// Where in the user's program a call stands; every operation takes one as its last, defaulted
/// parameter, so that errors can say `train.cpp:88`.
using Site = std::source_location;

}  // namespace trireme
