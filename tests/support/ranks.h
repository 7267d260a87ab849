#pragma once

#include <functional>
#include <memory>

#include "trireme/trireme.h"

namespace trireme {

/// The options of worlds in tests: nothing waits longer than this for a rank that never comes.
[[nodiscard]] WorldOptions test_options(Transport transport = Transport::automatic);

/// Runs `body` once per rank, each in a thread and world of its own, all in one memory store.
/// Rethrows the first exception that a rank's body lets out, after all have ended.
void run_ranks(int size, const std::function<void(World&)>& body,
               const WorldOptions& options = test_options());

}  // namespace trireme
