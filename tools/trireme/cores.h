#pragma once

namespace trireme::tool {

/// How many cores this process may use: its affinity mask, less where a cgroup's CPU quota
/// (containers, batch systems) grants fewer. At least 1.
[[nodiscard]] int usable_cores();

}  // namespace trireme::tool
