#pragma once

#include <csignal>

namespace trireme {

/// The signal that asks a process to write down what its ranks do.
inline constexpr int dump_signal = SIGUSR2;

/// An eventfd that becomes readable when the process gets the signal. It stays open until the
/// process ends, for a handler may run at any time; so does the handler, for a signal that comes
/// when the last world has just ended must not end the process. -1 where the program handles the
/// signal itself, or ignores it: then that is left as it is.
[[nodiscard]] int dump_signal_descriptor() noexcept;

}  // namespace trireme
