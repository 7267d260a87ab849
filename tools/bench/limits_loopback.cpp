#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "core/unique_fd.h"
#include "limits_measure.h"

namespace trireme::bench {
namespace {

constexpr std::size_t message_bytes = 8;

// Both ends of a TCP connection of this host; without descriptors, and with errno, if it fails.
struct LoopbackPair {
    UniqueFd first;
    UniqueFd second;
};

LoopbackPair connect_loopback() {
    LoopbackPair pair;
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    if (!listener || ::bind(listener.get(), generic, length) != 0 ||
        ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), generic, &length) != 0) {
        return pair;
    }
    UniqueFd first(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!first || ::connect(first.get(), generic, length) != 0) return pair;
    UniqueFd second(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!second) return pair;
    for (const int fd : {first.get(), second.get()}) {
        const int yes = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    pair.first = std::move(first);
    pair.second = std::move(second);
    return pair;
}

bool send_message(int fd, const char* message) {
    // An empty connection takes eight bytes whole.
    return ::send(fd, message, message_bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(message_bytes);
}

// Polls; false at the end of the connection.
bool receive_message(int fd, char* message) {
    std::size_t got = 0;
    bool open = true;
    poll_until([&] {
        const ssize_t n = ::recv(fd, message + got, message_bytes - got, MSG_DONTWAIT);
        open = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
        got += n > 0 ? static_cast<std::size_t>(n) : 0;
        return !open || got == message_bytes;
    });
    return open;
}

}  // namespace

std::vector<Limit> measure_loopback(double part) {
    Limit limit{
        .name = "tcp_loopback", .about = "TCP of this host, there and back, polling", .unit = "µs"};
    LoopbackPair pair = connect_loopback();
    if (!pair.second) {
        limit.error = std::strerror(errno);
        return {limit};
    }
    const std::vector<int> cores = allowed_cores();
    std::thread partner([&pair, core = cores.size() > 1 ? cores[1] : cores[0]] {
        const Pinned pinned(core);
        char message[message_bytes];
        while (receive_message(pair.second.get(), message) &&
               send_message(pair.second.get(), message)) {
        }
    });
    {
        const Pinned pinned(cores.front());
        measure_rounds(limit, part, [&pair] {
            constexpr int turns = 200;
            char message[message_bytes] = {};
            return nanoseconds_of([&] {
                       for (int turn = 0; turn < turns; ++turn) {
                           if (!send_message(pair.first.get(), message) ||
                               !receive_message(pair.first.get(), message)) {
                               return;
                           }
                       }
                   }) /
                   turns / 1e3;
        });
    }
    ::shutdown(pair.first.get(), SHUT_RDWR);
    partner.join();
    return {limit};
}

}  // namespace trireme::bench
