#include "store/tcp_connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "store/protocol.h"

namespace trireme::store {
namespace {

[[noreturn]] void throw_broken(int error) {
    throw TcpConnection::Broken(error == 0 ? "the other end closed it" : std::strerror(error),
                                error);
}

void tune(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A wait may be long and silent. A host that has vanished is noticed after about 25 seconds.
    const int idle = 10, interval = 5, probes = 3, unacknowledged_ms = 30'000;
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

TcpConnection::TcpConnection(const Address& address, const Deadline& connect_by,
                             const Deadline& hello_by)
    : socket_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!socket_) {
        throw_broken(errno);
    }
    connect(address, connect_by.earlier(hello_by));
    greet(hello_by);
}

void TcpConnection::connect(const Address& address, const Deadline& deadline) {
    tune(socket_.get());
    if (::connect(socket_.get(), address.get(), address.size) != 0) {
        if (errno != EINPROGRESS && errno != EINTR) {
            throw_broken(errno);
        }
        await(POLLOUT, deadline);
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) {
            throw_broken(error);
        }
    }
    // While nobody listens on the port, the kernel may have picked it for this very socket, and
    // TCP then connects a socket to itself.
    if (local_address(socket_.get()).text() == remote().text()) {
        const linger at_once{1, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        throw_broken(ECONNREFUSED);
    }
}

void TcpConnection::greet(const Deadline& deadline) {
    send(client_hello(), deadline, false);
    char answer[hello_size];
    receive(answer, sizeof answer, deadline);
    const std::string_view got(answer, sizeof answer);
    const std::string expected = server_hello();
    if (got == expected) {
        server_id_.resize(server_id_size);
        return receive(server_id_.data(), server_id_size, deadline);
    }
    throw Foreign(got.substr(0, 8) == expected.substr(0, 8)
                      ? "a Trireme store of another version"
                      : fmt::format("no Trireme store: it says {}", quoted(got)));
}

std::string TcpConnection::call(std::string_view request, const Deadline& deadline) {
    send(encode_length(request.size()), deadline, true);
    send(request, deadline, false);
    char length[4];
    receive(length, sizeof length, deadline);
    const std::size_t size = decode_length({length, sizeof length});
    if (size > max_frame_size) {
        throw Broken("the reply is malformed", EPROTO);
    }
    std::string reply(size, '\0');
    receive(reply.data(), size, deadline);
    return reply;
}

bool TcpConnection::is_idle() const noexcept {
    pollfd entry{socket_.get(), POLLIN | POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) == 0;
}

void TcpConnection::send(std::string_view bytes, const Deadline& deadline, bool more) {
    const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), flags);
        if (sent >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (would_block(errno)) {
            await(POLLOUT, deadline);
        } else {
            throw_broken(errno);
        }
    }
}

void TcpConnection::receive(char* bytes, std::size_t size, const Deadline& deadline) {
    while (size > 0) {
        const ssize_t got = ::recv(socket_.get(), bytes, size, 0);
        if (got > 0) {
            bytes += got;
            size -= static_cast<std::size_t>(got);
        } else if (got < 0 && would_block(errno)) {
            await(POLLIN, deadline);
        } else {
            throw_broken(got == 0 ? 0 : errno);
        }
    }
}

void TcpConnection::await(short events, const Deadline& deadline) const {
    for (;;) {
        pollfd entry{socket_.get(), events, 0};
        const auto left = std::min<long long>(deadline.left().count(), INT_MAX);
        const int ready = ::poll(&entry, 1, static_cast<int>(left));
        if (ready > 0) {
            return;
        }
        if (ready < 0 && errno != EINTR) {
            throw_broken(errno);
        }
        if (deadline.passed()) {
            throw Late();
        }
    }
}

}  // namespace trireme::store
