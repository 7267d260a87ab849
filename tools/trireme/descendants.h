#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

namespace trireme::tool {

/// A process below this one, as /proc shows it.
struct Descendant {
    pid_t pid = 0;
    pid_t group = 0;
    bool zombie = false;
};

/// Makes orphans below this process its own children, so that `descendants` finds them, whatever
/// process group or session they made for themselves.
void adopt_orphans();

/// The processes below this one, except the subtree at `except`. A snapshot: whoever wants them
/// gone asks again until it is empty.
[[nodiscard]] std::vector<Descendant> descendants(pid_t except);

/// Processes anywhere whose environment at their start held `entry` ("NAME=value"), except this
/// one. For the guard, which is nobody's parent.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view entry);

}  // namespace trireme::tool
