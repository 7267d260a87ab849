#include "group/bootstrap_socket.h"

#include <dirent.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "trireme/error.h"

namespace trireme::bootstrap {

namespace {

using store::Address;

constexpr int backlog = 4096;  // the kernel cuts it to net.core.somaxconn

// Inboxes, listeners, the engine's own, and strangers.
constexpr int descriptors_besides = 128;

std::size_t open_descriptors() noexcept {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
    std::size_t count = 0;
    while (folder && ::readdir(folder.get()) != nullptr) ++count;
    return count;
}

Address unix_address(const std::string& name) noexcept {
    sockaddr_un in{};
    in.sun_family = AF_UNIX;
    // The leading zero makes it an abstract name.
    const std::size_t length = std::min(name.size(), sizeof(in.sun_path) - 1);
    std::memcpy(in.sun_path + 1, name.data(), length);
    Address address;
    std::memcpy(&address.storage, &in, sizeof(in));
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return address;
}

UniqueFd make_socket(int family, int type) noexcept {
    return UniqueFd(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int listen_at(UniqueFd& socket, const Address& address) noexcept {
    socket = make_socket(address.family(), SOCK_STREAM);
    if (!socket || ::bind(socket.get(), address.get(), address.size) != 0 ||
        ::listen(socket.get(), backlog) != 0) {
        return errno;
    }
    return 0;
}

}  // namespace

std::size_t descriptors_needed(int size) noexcept {
    return static_cast<std::size_t>(size) * descriptors_per_peer + descriptors_besides;
}

void throw_system(const std::string& what, int error, int size) {
    std::string text = fmt::format("{}: {}", what, std::strerror(error));
    if (error == EMFILE || error == ENFILE) {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        text += fmt::format(
            "; a world of {} ranks needs up to {} descriptors besides those that are open, the "
            "limit is {} (hard limit {}): raise it with ulimit -n",
            size, descriptors_needed(size), limit.rlim_cur, limit.rlim_max);
    }
    throw Error(ErrorCode::system, text);
}

void make_room_for_descriptors(int size) noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    // Twice: other worlds of this process may be in the making.
    if (open_descriptors() + 2 * descriptors_needed(size) <= limit.rlim_cur) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

UniqueFd listen_unix(const std::string& name, int size) {
    UniqueFd socket = make_socket(AF_UNIX, SOCK_SEQPACKET);
    const Address address = unix_address(name);
    if (!socket || ::bind(socket.get(), address.get(), address.size) != 0 ||
        ::listen(socket.get(), backlog) != 0) {
        throw_system("cannot listen on a Unix socket", errno, size);
    }
    return socket;
}

UniqueFd connect_unix(const std::string& name) {
    UniqueFd socket = make_socket(AF_UNIX, SOCK_SEQPACKET);
    const Address address = unix_address(name);
    if (socket && ::connect(socket.get(), address.get(), address.size) != 0) {
        const int error = errno;
        socket.reset();
        errno = error;
    }
    return socket;
}

TcpListener listen_tcp(const std::string& host, int size) {
    const store::Endpoint wanted{store::without_brackets(host), 0};
    const store::Resolved resolved = store::resolve(wanted);
    if (resolved.addresses.empty()) {
        throw Error(ErrorCode::rendezvous,
                    fmt::format("the address '{}' of this rank (TRIREME_ADDRESS) is unknown: {}",
                                host, resolved.error));
    }
    UniqueFd socket;
    // Others know the name by an address that is not loopback: that is one of all addresses.
    const bool by_name =
        resolved.addresses.front().is_loopback() && !store::means_the_same_everywhere(wanted.host);
    int error = by_name ? EADDRNOTAVAIL : 0;
    for (const Address& address : resolved.addresses) {
        if (by_name) break;
        error = listen_at(socket, address);
        if (error == 0) {
            // By number: another host may understand the name otherwise.
            const Address bound = store::local_address(socket.get());
            const std::string text = bound.text();
            return {std::move(socket),
                    {store::without_brackets(text.substr(0, text.rfind(':'))), bound.port()}};
        }
    }
    if (error == EADDRNOTAVAIL) {
        // Of both kinds, where the kernel has IPv6.
        for (const char* const any : {"::", "0.0.0.0"}) {
            error = listen_at(socket, store::resolve({any, 0}).addresses.at(0));
            if (error == 0) break;
        }
        if (error == 0) {
            const std::uint16_t port = store::local_address(socket.get()).port();
            return {std::move(socket), {wanted.host, port}};
        }
    }
    throw_system(fmt::format("cannot listen on a TCP port of {}", host), error, size);
}

UniqueFd start_connect(const Address& address) {
    UniqueFd socket = make_socket(address.family(), SOCK_STREAM);
    if (socket && ::connect(socket.get(), address.get(), address.size) != 0 &&
        errno != EINPROGRESS && errno != EINTR) {
        const int error = errno;
        socket.reset();
        errno = error;
    }
    return socket;
}

int outcome(int socket) noexcept {
    int error = 0;
    socklen_t size = sizeof(error);
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

UniqueFd accept_from(int listener, int size) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE)) {
        throw_system("cannot accept a connection", errno, size);
    }
    return socket;
}

bool same_user(int socket) noexcept {
    ucred who{};
    socklen_t size = sizeof(who);
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           who.uid == ::geteuid();
}

bool wait_for(int socket, short events, std::chrono::steady_clock::time_point until) noexcept {
    using namespace std::chrono;
    for (;;) {
        const auto left = ceil<milliseconds>(until - steady_clock::now()).count();
        pollfd entry{socket, events, 0};
        const int ready =
            ::poll(&entry, 1, static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
        if (ready > 0) return true;
        if (left <= 0) return false;
    }
}

}  // namespace trireme::bootstrap
