// Runs the real `trireme` and looks at what comes out of it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::test {

using namespace std::chrono_literals;

/// Generous: the machine may be busy, and a hang must become a failure nevertheless.
inline constexpr auto patience = std::chrono::seconds(40);

template <class Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
        ++found;
    }
    return found;
}

/// A running or ended `trireme`, with all its descendants marked in their environment.
class Launcher {
public:
    struct Setup {
        std::vector<std::string> environment;  ///< "NAME=value", added; "NAME" is removed
        int in = -1;                           ///< else /dev/null
        int out = -1;                          ///< else kept in memory, for out()
        std::string program = TRIREME_PROGRAM;
    };

    explicit Launcher(std::vector<std::string> arguments) : Launcher(std::move(arguments), {}) {}

    Launcher(std::vector<std::string> arguments, const Setup& setup)
        : mark_("TRIREME_TEST_MARK=" + std::to_string(::getpid()) + "-" + std::to_string(++number)),
          out_(::memfd_create("out", MFD_CLOEXEC)),
          err_(::memfd_create("err", MFD_CLOEXEC)) {
        arguments.insert(arguments.begin(), setup.program);
        pid_ = ::fork();
        if (pid_ == 0) {
            become(arguments, setup);
        }
    }

    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    ~Launcher() {
        if (!ended_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        for (const pid_t pid : survivors()) {
            ::kill(pid, SIGKILL);
        }
        ::close(out_);
        ::close(err_);
    }

    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number_of_signal) const { ::kill(pid_, number_of_signal); }

    [[nodiscard]] std::string out() const { return contents(out_); }
    [[nodiscard]] std::string err() const { return contents(err_); }

    /// Waits until `text` was printed `times` times.
    [[nodiscard]] bool prints(const std::string& text, std::size_t times = 1) {
        return eventually([&] { return count(out(), text) >= times; });
    }

    /// The exit code, or minus the signal; -1000 and the end of it all after `limit`.
    int wait(std::chrono::milliseconds limit = patience) {
        int status = 0;
        ended_ = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, limit);
        if (!ended_) {
            ADD_FAILURE() << "trireme does not end\n" << out() << err();
            return -1000;
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    /// The processes of this job that live, whoever their parent is now.
    [[nodiscard]] std::vector<pid_t> survivors() const {
        std::vector<pid_t> found;
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
            const std::string name = entry.path().filename();
            if (name.find_first_not_of("0123456789") != std::string::npos) {
                continue;
            }
            std::ifstream file(entry.path() / "environ");
            std::string text((std::istreambuf_iterator<char>(file)), {});
            text.push_back('\0');
            if (text.find(mark_ + '\0') != std::string::npos) {
                found.push_back(std::stoi(name));
            }
        }
        return found;
    }

    [[nodiscard]] bool leaves_nobody(std::chrono::milliseconds limit = patience) const {
        return eventually([&] { return survivors().empty(); }, limit);
    }

private:
    [[noreturn]] void become(const std::vector<std::string>& arguments, const Setup& setup) const {
        ::dup2(setup.in >= 0 ? setup.in : ::open("/dev/null", O_RDONLY), 0);
        ::dup2(setup.out >= 0 ? setup.out : out_, 1);
        ::dup2(err_, 2);
        ::close_range(3, ~0U, 0);
        for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE}) {
            ::signal(signal, SIG_DFL);  // a test runner may ignore some
        }
        ::setsid();
        for (const char* name : {"OMP_NUM_THREADS", "NO_COLOR", "RANK", "WORLD_SIZE"}) {
            ::unsetenv(name);
        }
        set(mark_);
        for (const std::string& entry : setup.environment) {
            set(entry);
        }
        std::vector<char*> argv;
        for (const std::string& argument : arguments) {
            argv.push_back(const_cast<char*>(argument.c_str()));
        }
        argv.push_back(nullptr);
        ::execvp(argv[0], argv.data());
        ::_exit(99);
    }

    static void set(const std::string& entry) {
        const std::size_t equals = entry.find('=');
        if (equals == std::string::npos) {
            ::unsetenv(entry.c_str());
        } else {
            ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
        }
    }

    static std::string contents(int fd) {
        std::string text;
        char buffer[65536];
        for (ssize_t n = 0;
             (n = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0;) {
            text.append(buffer, static_cast<std::size_t>(n));
        }
        return text;
    }

    static inline int number = 0;
    std::string mark_;
    int out_;
    int err_;
    pid_t pid_ = -1;
    bool ended_ = false;
};

/// `trireme run OPTIONS -- sh -c SCRIPT`.
inline std::vector<std::string> run_shell(std::vector<std::string> options, std::string script) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "/bin/sh", "-c", std::move(script)});
    return options;
}

}  // namespace trireme::test
