#pragma once

#include <nlohmann/json_fwd.hpp>

namespace trireme::bench {

/// What this machine can do, measured in about six seconds by all cores that this process may use:
/// memory, a cache line's flight, changes of process, wake-ups, another process's memory, TCP. With
/// `part` under 1 in that part of the time, with large buffers that are as much smaller: for tests.
///
/// An object with, for each figure, {"about", "best", "median", "unit"}, or {"about", "error"}
/// where the machine does not permit it; with "cores"; and with "copy_by_size", the rates at which
/// all cores together copy buffers of several sizes, as [{"bytes", "GBps"}, ...].
[[nodiscard]] nlohmann::json measure_limits(double part = 1);

/// `trireme bench limits [--json FILE]`; argv[0] is the word "limits". Returns the exit code.
[[nodiscard]] int limits_command(int argc, char** argv);

}  // namespace trireme::bench
