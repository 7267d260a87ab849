#pragma once

#include <cstddef>

#include <termios.h>

namespace trireme::tool {

/// The terminal as a full-screen program needs it, until this is destroyed: another screen, no
/// cursor, and, where stdin is that terminal, keys one by one and unseen.
class Terminal {
public:
    Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] bool has_keys() const noexcept { return has_keys_; }

    struct Size {
        std::size_t width = 0;
        std::size_t height = 0;
    };
    [[nodiscard]] static Size size() noexcept;

private:
    termios before_{};
    bool has_keys_ = false;
};

}  // namespace trireme::tool
