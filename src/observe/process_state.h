#pragma once

#include <string>

namespace trireme {

enum class ProcessState { running, stopped, ended };

/// As the kernel shows it; stopped: by a signal or a debugger.
[[nodiscard]] ProcessState process_state(int pid);

/// "running", "stopped", "ended".
[[nodiscard]] const char* name(ProcessState state) noexcept;

/// The parent of a process; 0 where there is none.
[[nodiscard]] int parent_of(int pid);

/// The number of a process as it sees itself: in a container not the one by which it is seen from
/// outside. 0 where there is no such process.
[[nodiscard]] int inner_pid(int pid);

/// The command line, its words separated by blanks.
[[nodiscard]] std::string command_of(int pid);

}  // namespace trireme
