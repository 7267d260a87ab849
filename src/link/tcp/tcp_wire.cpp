#include "link/tcp/tcp_wire.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace trireme {

namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

// Less than this, and one read into the buffer serves several calls.
constexpr std::size_t direct_bytes = std::size_t{16} << 10;

void set_option(int socket, int level, int name, int value) noexcept {
    ::setsockopt(socket, level, name, &value, sizeof(value));
}

iovec piece(ConstBytes bytes) noexcept {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // the kernel only reads it
}

}  // namespace

TcpWire::TcpWire(UniqueFd socket, std::chrono::milliseconds heartbeat)
    : socket_(std::move(socket)), received_(buffer_bytes) {
    const int fd = socket_.get();
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    // The kernel sends the heartbeats, for no thread of ours is sure to be awake: after three
    // intervals without an answer the socket fails. It sends none while data is on its way; of that
    // `unacknowledged` tells.
    constexpr int probes = 3;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(heartbeat).count();
    const int interval = std::max(1, static_cast<int>(seconds / (probes + 2)));
    const int idle = std::max(1, static_cast<int>(seconds) - probes * interval);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

// Not TCP_USER_TIMEOUT: that would also end a connection whose peer only does not read for a while.
std::chrono::milliseconds TcpWire::unacknowledged() const noexcept {
    tcp_info now{};
    socklen_t bytes = sizeof(now);
    if (::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &now, &bytes) != 0 ||
        now.tcpi_unacked == 0)
        return std::chrono::milliseconds(0);
    return std::chrono::milliseconds(std::min(now.tcpi_last_ack_recv, now.tcpi_last_data_recv));
}

std::size_t TcpWire::write(ConstBytes head, ConstBytes body) noexcept {
    if (!flush_rest()) return 0;
    const std::size_t sent = send(head, body);
    if (sent == 0 || sent >= head.size()) return sent;
    rest_bytes_ = head.size() - sent;
    std::memcpy(rest_.data(), head.data() + sent, rest_bytes_);
    return head.size();
}

// Returns whether nothing is left of an earlier head.
bool TcpWire::flush_rest() noexcept {
    if (rest_bytes_ == 0) return true;
    const std::size_t sent = send({rest_.data(), rest_bytes_}, {});
    if (sent > 0) {
        rest_bytes_ -= sent;
        std::memmove(rest_.data(), rest_.data() + sent, rest_bytes_);
    }
    return rest_bytes_ == 0;
}

std::size_t TcpWire::send(ConstBytes head, ConstBytes body) noexcept {
    if (unwritable_) return 0;
    iovec pieces[2] = {piece(head), piece(body)};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) {
        // What arrived before can still be read, and then the reading side ends as well.
        reason_ = std::strerror(errno);
        end_writing();
    }
    return 0;
}

ConstBytes TcpWire::peek(std::size_t want) noexcept {
    if (rest_bytes_ > 0) flush_rest();
    if (received_.size() < want && !ended_) received_.filled(receive(received_.space()));
    return received_.view();
}

std::size_t TcpWire::read(Bytes target) noexcept {
    std::size_t total = 0;
    while (total < target.size()) {
        const Bytes rest = target.subspan(total);
        if (received_.size() == 0 && rest.size() >= direct_bytes) {
            const std::size_t bytes = receive(rest);
            if (bytes == 0) break;
            total += bytes;
            continue;
        }
        const ConstBytes view = peek(1);
        if (view.empty()) break;
        const std::size_t bytes = std::min(view.size(), rest.size());
        std::memcpy(rest.data(), view.data(), bytes);
        consume(bytes);
        total += bytes;
    }
    return total;
}

std::size_t TcpWire::receive(Bytes target) noexcept {
    if (ended_) return 0;
    ssize_t bytes = 0;
    do {
        bytes = ::recv(socket_.get(), target.data(), target.size(), MSG_DONTWAIT);
    } while (bytes < 0 && errno == EINTR);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    if (bytes == 0) {
        ended_ = true;
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
        ended_ = true;
        reason_ = std::strerror(errno);
    }
    return 0;
}

void TcpWire::descriptor_ready() noexcept { flush_rest(); }

void TcpWire::shut_down() noexcept {
    flush_rest();
    ::shutdown(socket_.get(), SHUT_WR);
    end_writing();
    // Closing a socket that holds unread bytes resets the connection, and what the peer has not
    // acknowledged by then is lost to it: so read on until it has acknowledged everything.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    for (int unsent = 1; std::chrono::steady_clock::now() < until;) {
        char ignored[4096];
        while (::recv(socket_.get(), ignored, sizeof(ignored), MSG_DONTWAIT) > 0) {
        }
        if (::ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

void TcpWire::end_writing() noexcept {
    unwritable_ = true;
    rest_bytes_ = 0;
}

}  // namespace trireme
