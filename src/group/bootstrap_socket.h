#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "core/unique_fd.h"
#include "store/endpoint.h"

/// The sockets of the bootstrap: all close-on-exec and non-blocking.
namespace trireme::bootstrap {

/// Descriptors that a rank needs for each peer at most: socket, process, both, doorbell.
inline constexpr int descriptors_per_peer = 4;
/// ... and in all, in a world of `size`.
[[nodiscard]] std::size_t descriptors_needed(int size) noexcept;

/// Throws `Error(system)`: `what` failed with `error`. Where descriptors ran out it says how many a
/// world of `size` ranks needs, and how many there may be.
[[noreturn]] void throw_system(const std::string& what, int error, int size);

/// Raises the soft limit of descriptors to the hard one, if a world of `size` ranks may need that.
void make_room_for_descriptors(int size) noexcept;

/// Listens on the abstract Unix socket `name`, for messages that keep their bounds.
[[nodiscard]] UniqueFd listen_unix(const std::string& name, int size);
/// Connects to it; false with `errno` where it does not answer at once.
[[nodiscard]] UniqueFd connect_unix(const std::string& name);

struct TcpListener {
    UniqueFd socket;
    store::Endpoint endpoint;  ///< where others reach it
};
/// Listens on a free port of `host`; on all addresses where `host` is that of a router in front of
/// this one, or a name that means loopback here and something else elsewhere.
[[nodiscard]] TcpListener listen_tcp(const std::string& host, int size);
/// Begins to connect; false with `errno` where that fails at once.
[[nodiscard]] UniqueFd start_connect(const store::Address& address);
/// The outcome of a connect that has ended: 0 or an errno.
[[nodiscard]] int outcome(int socket) noexcept;

/// The next one in the queue; false where there is none. Throws where descriptors ran out.
[[nodiscard]] UniqueFd accept_from(int listener, int size);

/// Whether the process behind a Unix socket belongs to this user.
[[nodiscard]] bool same_user(int socket) noexcept;

/// Waits; returns whether one of `events` came before `until`.
bool wait_for(int socket, short events, std::chrono::steady_clock::time_point until) noexcept;

}  // namespace trireme::bootstrap
