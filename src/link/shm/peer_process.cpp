#include "link/shm/peer_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace trireme::shm {

namespace {

#ifdef SO_PEERPIDFD
constexpr int so_peerpidfd = SO_PEERPIDFD;
#else
constexpr int so_peerpidfd = 77;
#endif

pid_t pid_behind(int socket) noexcept {
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return 0;
    return who.pid;
}

// From the socket (Linux 6.5), where no other process can have got the number meanwhile, or by
// number (Linux 5.3).
UniqueFd descriptor_of(int socket, pid_t pid) noexcept {
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (::getsockopt(socket, SOL_SOCKET, so_peerpidfd, &fd, &size) == 0) return UniqueFd(fd);
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

UniqueFd epoll_of(int first, int second) noexcept {
    UniqueFd both(::epoll_create1(EPOLL_CLOEXEC));
    for (const int fd : {first, second}) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLRDHUP;
        if (!both || ::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) != 0) return {};
    }
    return both;
}

bool readable(int fd, int timeout_ms) noexcept {
    pollfd entry{fd, POLLIN, 0};
    int ready = 0;
    do {
        ready = ::poll(&entry, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

}  // namespace

PeerProcess::PeerProcess(UniqueFd socket) noexcept : socket_(std::move(socket)) {
    pid_ = pid_behind(socket_.get());
    if (pid_ <= 0 || same()) return;
    process_ = descriptor_of(socket_.get(), pid_);
    if (process_) both_ = epoll_of(socket_.get(), process_.get());
}

bool PeerProcess::same() const noexcept { return pid_ == ::getpid(); }

void PeerProcess::look() noexcept {
    if (gone_) return;
    dead_ = ended();
    // Nothing is sent over the socket after the handshake: what makes it readable is its end.
    gone_ = dead_ || readable(socket_.get(), 0);
}

bool PeerProcess::ended() const noexcept { return process_ && readable(process_.get(), 0); }

std::string PeerProcess::story() const {
    if (!gone_) return {};
    if (!killed_because_.empty()) return killed_because_;
    // A dying process closes its connections a moment before its end shows. This is asked once,
    // when all is over, and whoever reports the loss must not be faster than the news of the death.
    constexpr int moment_ms = 200;
    if (dead_ || (process_ && readable(process_.get(), moment_ms)))
        return fmt::format("its process {} has ended", pid_);
    return fmt::format("its process {} has closed the connection", pid_);
}

bool PeerProcess::stopped() const noexcept {
    char path[32];
    std::snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid_));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
    if (!file) return false;
    char text[512];
    const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file.get());
    text[size] = '\0';
    // The state follows the name, which stands in parentheses and may contain some.
    const char* name_end = std::strrchr(text, ')');
    if (name_end == nullptr || name_end[1] != ' ') return false;
    return name_end[2] == 'T' || name_end[2] == 't';
}

void PeerProcess::kill(std::string reason) noexcept {
    if (!process_) return;
    if (::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0U) == 0) {
        killed_because_ = std::move(reason);
    }
    readable(process_.get(), -1);
    gone_ = dead_ = true;
}

void PeerProcess::hang_up() noexcept {
    if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace trireme::shm
