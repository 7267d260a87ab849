#include "ground.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "bench_options.h"

namespace trireme::bench {
namespace {

std::string netns_script() {
    const char* path = std::getenv("TRIREME_NETNS");
    return path != nullptr ? path : TRIREME_NETNS;
}

[[noreturn]] void refuse(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

int run_netns(const std::string& command, const std::string& name, int hosts) {
    const std::string script = netns_script();
    const std::string count = std::to_string(hosts);
    const pid_t child = ::fork();
    if (child == 0) {
        if (command == "up") {
            ::execl(script.c_str(), script.c_str(), "up", name.c_str(), count.c_str(), nullptr);
        } else {
            ::execl(script.c_str(), script.c_str(), "down", name.c_str(), nullptr);
        }
        ::_exit(127);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

// In memory where that can be had: some peers keep the memory that their ranks share in it.
std::filesystem::path base_folder() {
    return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm"
                                                  : std::filesystem::temp_directory_path();
}

}  // namespace

Ground::Ground(int hosts) : hosts_(hosts) {
    std::string path = (base_folder() / "trireme-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
        refuse("mkdtemp " + path);
    }
    folder_ = path;
    start_guard();
    listen();
    if (hosts_ > 1 && run_netns("up", host_name(-1), hosts_) != 0) {
        throw UsageError(
            fmt::format("--hosts {}: {} cannot make network namespaces; run as root, or by "
                        "`scripts/netns enter`",
                        hosts_, netns_script()));
    }
}

Ground::~Ground() {
    ::close(listener_);
    ::close(life_line_);
    ::waitpid(guard_, nullptr, 0);
}

std::string Ground::host_name(int host) const {
    // The folder's last six letters are unique; capitals would not be found by the script.
    std::string name = "tb";
    for (const char letter : folder_.substr(folder_.size() - 6)) {
        name += fmt::format("{:02x}", static_cast<unsigned char>(letter));
    }
    return host < 0 ? name : fmt::format("{}-{}", name, host);
}

std::string Ground::host_address(int host) { return fmt::format("10.99.0.{}", host + 1); }

void Ground::start_guard() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        refuse("pipe");
    }
    guard_ = ::fork();
    if (guard_ < 0) {
        refuse("fork");
    }
    if (guard_ == 0) {
        ::setsid();  // away from the terminal's Ctrl-C
        ::signal(SIGTERM, SIG_IGN);
        ::close(ends[1]);
        char byte = 0;
        while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        // Contestants that end just now may still be writing.
        std::error_code error;
        for (int tries = 0; tries < 50 && std::filesystem::exists(folder_, error); ++tries) {
            std::filesystem::remove_all(folder_, error);
            ::usleep(20'000);
        }
        if (hosts_ > 1) {
            run_netns("down", host_name(-1), hosts_);
        }
        ::_exit(0);
    }
    ::close(ends[0]);
    life_line_ = ends[1];
}

void Ground::listen() {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket_path();
    if (path.size() >= sizeof address.sun_path) {
        throw UsageError(
            fmt::format("{} is too long for a socket; set TMPDIR to a shorter path", path));
    }
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (listener_ < 0 ||
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0) {
        refuse("listen at " + path);
    }
}

}  // namespace trireme::bench
