#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace trireme::tool {

/// The launcher cannot do what it was asked; `trireme` prints the text and exits with the code.
class Failure : public std::runtime_error {
public:
    explicit Failure(const std::string& message, int exit_code = 1)
        : std::runtime_error(message), exit_code_(exit_code) {}

    [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

private:
    int exit_code_;
};

/// "what: No such file or directory", from errno.
[[nodiscard]] inline Failure system_failure(const std::string& what, int error = errno) {
    return Failure(what + ": " + std::strerror(error));
}

}  // namespace trireme::tool
