#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace trireme {

/// What went wrong, for programs; `Error::what()` is for people.
enum class ErrorCode {
    invalid_argument,  ///< the call itself is wrong; nothing was sent
    unsupported,       ///< the call is meaningful but this build or dtype cannot do it
    mismatch,          ///< ranks of one group made calls that do not fit together
    timeout,           ///< a deadline passed
    deadlock,          ///< ranks wait for one another in a circle: none can go on
    peer_lost,         ///< a rank died, left or became unreachable
    aborted,           ///< another rank, or another thread, failed the group
    rendezvous,        ///< the ranks could not find one another
    store,             ///< the key-value store failed or refused
    system,            ///< the operating system refused something
};

/// Short lower-case name of a code: "timeout", "peer_lost", ...
[[nodiscard]] const char* name(ErrorCode code) noexcept;

/// The one exception type of Trireme.
///
/// The text names the operation, the group, the ranks, the values at fault and what to do about
/// it. `ranks()` are the world ranks to blame where they are known, so that a program can react
/// without reading the text.
class Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message, std::vector<int> ranks = {});

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    [[nodiscard]] const std::vector<int>& ranks() const noexcept { return *ranks_; }

private:
    ErrorCode code_;
    std::shared_ptr<const std::vector<int>> ranks_;  // shared: copying an exception must not throw
};

}  // namespace trireme
