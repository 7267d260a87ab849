#pragma once

#include <string>

namespace trireme::tool {

/// How a process ended: by itself with an exit code, or by a signal.
struct Ending {
    bool by_signal = false;
    int value = 0;  ///< the exit code, or the signal's number

    [[nodiscard]] bool failed() const noexcept { return by_signal || value != 0; }

    /// What a shell would report: the exit code, or 128 + the signal.
    [[nodiscard]] int exit_code() const noexcept { return by_signal ? 128 + value : value; }

    [[nodiscard]] bool operator==(const Ending&) const noexcept = default;
};

/// The ending in a status that waitpid() delivered.
[[nodiscard]] Ending ending_of(int wait_status) noexcept;

/// "SIGTERM"; "SIG40" where the number has no name.
[[nodiscard]] std::string signal_name(int signal);

/// "exited with code 2", "was killed by signal 9 (SIGKILL)". The value of the store's
/// launcher/exit/RANK keys (store/launcher_keys.h), so the form is part of the interface.
[[nodiscard]] std::string describe(const Ending& ending);

}  // namespace trireme::tool
