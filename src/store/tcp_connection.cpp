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

#include "store/proof.h"
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

std::string reason(Verdict verdict, bool has_token) {
    if (verdict == Verdict::other_host) {
        return "it has no token, and so lets in processes of its own host only: set TRIREME_TOKEN "
               "to the same value on all ranks (or TRIREME_INSECURE=1 where the store runs, if "
               "everybody who can reach it may join)";
    }
    return fmt::format(
        "the tokens differ: set TRIREME_TOKEN to the same value on all ranks (this process has {})",
        has_token ? "another one than the store" : "none");
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

TcpConnection::TcpConnection(const Address& address, const std::string& token,
                             const Deadline& connect_by, const Deadline& hello_by)
    : socket_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (!socket_) {
        throw_broken(errno);
    }
    connect(address, connect_by.earlier(hello_by));
    greet(token, hello_by);
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

void TcpConnection::greet(const std::string& token, const Deadline& deadline) {
    const std::string nonce = random_bytes(nonce_size);
    send(client_hello() + nonce, deadline, false);
    const std::string got = receive(hello_size, deadline);
    const std::string expected = server_hello();
    if (got != expected) {
        throw Foreign(got.substr(0, 8) == expected.substr(0, 8)
                          ? "a Trireme store of another version"
                          : fmt::format("no Trireme store: it says {}", in_quotes(got)));
    }
    server_id_ = receive(server_id_size, deadline);
    const std::string server_nonce = receive(nonce_size, deadline);
    send(client_proof(token, nonce, server_nonce), deadline, false);
    const auto verdict = static_cast<Verdict>(receive(1, deadline).front());
    if (verdict != Verdict::welcome ||
        !same_proof(receive(proof_size, deadline), server_proof(token, nonce, server_nonce))) {
        throw Denied(reason(verdict, !token.empty()));
    }
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

std::string TcpConnection::receive(std::size_t size, const Deadline& deadline) {
    std::string bytes(size, '\0');
    receive(bytes.data(), size, deadline);
    return bytes;
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
