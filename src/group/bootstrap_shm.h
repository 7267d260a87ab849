#pragma once

#include <optional>
#include <string>
#include <vector>

#include "group/bootstrap_context.h"

namespace trireme::bootstrap {

/// Connects to a lower rank through its Unix socket; nothing where the two cannot share memory, and
/// `problem` says why. Throws where the deadline passes.
[[nodiscard]] std::optional<Connection> connect_shm(const Context& context, int peer,
                                                    std::string& problem);

/// Goes on with a rank that has said hello over a Unix socket. As above; a peer that is gone before
/// the end is nothing, too: it will try again.
[[nodiscard]] std::optional<Connection> accept_shm(const Context& context, UniqueFd socket,
                                                   const Hello& theirs,
                                                   std::vector<UniqueFd> descriptors,
                                                   std::string& problem);

/// The error of a pair that must share memory and cannot.
[[nodiscard]] Error not_shared(int rank, int peer, const std::string& problem);

}  // namespace trireme::bootstrap
