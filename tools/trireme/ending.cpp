#include "ending.h"

#include <sys/wait.h>

#include <cstring>

#include <fmt/format.h>

namespace trireme::tool {

Ending ending_of(int wait_status) noexcept {
    if (WIFSIGNALED(wait_status)) {
        return {.by_signal = true, .value = WTERMSIG(wait_status)};
    }
    return {.by_signal = false, .value = WEXITSTATUS(wait_status)};
}

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("SIG{}", signal);
}

std::string describe(const Ending& ending) {
    return ending.by_signal ? fmt::format("was killed by signal {} ({})", ending.value,
                                          signal_name(ending.value))
                            : fmt::format("exited with code {}", ending.value);
}

}  // namespace trireme::tool
