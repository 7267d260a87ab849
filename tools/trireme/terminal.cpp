#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace trireme::tool {

Terminal::Terminal() {
    // In the background the terminal's keys belong to others.
    has_keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() &&
                ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fmt::print("\033[?1049h\033[?25l");
    std::fflush(stdout);
}

Terminal::~Terminal() {
    fmt::print("\033[?25h\033[?1049l");
    std::fflush(stdout);
    if (has_keys_) {
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
}

Terminal::Size Terminal::size() noexcept {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return {.width = 80, .height = 24};
    }
    return {.width = size.ws_col, .height = size.ws_row};
}

}  // namespace trireme::tool
