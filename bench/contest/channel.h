#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace trireme::bench {

/// One end of the Unix socket between the driver and a rank: JSON values, each on a line.
///
/// The driver asks, the rank answers:
///   rank:    {"contestant": name, "rank": r, "ranks": n, "pid": p}, or {"error": text}
///   driver:  {"meeting": path}                  once
///   driver:  {"cell": Cell, "turn": Turn}       measure
///   rank:    {"microseconds": [...], "wrong": n}, {"refused": text} or {"error": text}
///   driver:  {"release": true}                  give the buffers back; no answer
/// A rank ends where the driver's end closes.
class Channel {
public:
    explicit Channel(int socket = -1) : socket_(socket) {}
    Channel(Channel&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), pending_(std::move(other.pending_)) {}
    Channel& operator=(Channel&& other) noexcept {
        std::swap(socket_, other.socket_);
        std::swap(pending_, other.pending_);
        return *this;
    }
    ~Channel() {
        if (socket_ >= 0) ::close(socket_);
    }

    /// By a path, not an abstract name: network namespaces share the file system.
    static Channel connect(const std::string& path) {
        Channel channel(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        if (::connect(channel.socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            throw std::system_error(errno, std::generic_category(), "connect to " + path);
        return channel;
    }

    [[nodiscard]] int socket() const noexcept { return socket_; }

    /// False where the other end is closed.
    bool send(const nlohmann::json& value) {
        const std::string line = value.dump(-1, ' ', false, replace_bad) + '\n';
        for (std::size_t at = 0; at < line.size();) {
            const ssize_t sent = ::send(socket_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) return false;
            at += static_cast<std::size_t>(sent);
        }
        return true;
    }

    /// The next value, if it is there already. Throws `nlohmann::json::exception` for what is none.
    std::optional<nlohmann::json> take() {
        const std::size_t end = pending_.find('\n');
        if (end == std::string::npos) return std::nullopt;
        const auto value = nlohmann::json::parse(std::string_view(pending_).substr(0, end));
        pending_.erase(0, end + 1);
        return value;
    }

    /// Reads what has come, or waits until something comes; false where the other end is closed, or
    /// sends more than any answer is long.
    bool fill() {
        char buffer[16384];
        ssize_t got = 0;
        do {
            got = ::recv(socket_, buffer, sizeof buffer, 0);
        } while (got < 0 && errno == EINTR);
        if (got <= 0 || pending_.size() > most_bytes) return false;
        pending_.append(buffer, static_cast<std::size_t>(got));
        return true;
    }

    /// Waits for a value; none where the other end is closed.
    std::optional<nlohmann::json> receive() {
        for (;;) {
            if (auto value = take()) return value;
            if (!fill()) return std::nullopt;
        }
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{16} << 20U;
    static constexpr auto replace_bad = nlohmann::json::error_handler_t::replace;

    int socket_;
    std::string pending_;
};

}  // namespace trireme::bench
