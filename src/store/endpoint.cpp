#include "store/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "core/unique_fd.h"

namespace trireme::store {
namespace {

std::string join(std::string_view host, std::uint16_t port) {
    return host.find(':') == std::string_view::npos ? fmt::format("{}:{}", host, port)
                                                    : fmt::format("[{}]:{}", host, port);
}

// The compiler may assume that a sockaddr_storage is none of the other types: copy.
template <class T>
T as(const Address& address) {
    T out;
    std::memcpy(&out, &address.storage, sizeof out);
    return out;
}

Address name_of(int fd, int (*get)(int, sockaddr*, socklen_t*)) {
    Address out;
    out.size = sizeof out.storage;
    if (get(fd, reinterpret_cast<sockaddr*>(&out.storage), &out.size) != 0) {
        return Address{};
    }
    return out;
}

struct Lookup {
    Lookup(const Endpoint& endpoint, int flags) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = flags;
        const std::string host = without_brackets(endpoint.host);
        const std::string port = std::to_string(endpoint.port);
        addrinfo* found = nullptr;
        const int code = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
        if (code != 0) {
            error = code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code);
        } else {
            list.reset(found);
        }
    }

    std::unique_ptr<addrinfo, void (*)(addrinfo*)> list{nullptr, ::freeaddrinfo};
    std::string error;
};

}  // namespace

std::string Endpoint::text() const { return join(host, port); }

std::string without_brackets(std::string_view host) {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    return std::string(host);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, port);
    return error == std::errc{} && stop == end && port != 0 ? std::optional(port) : std::nullopt;
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view host = text.substr(0, colon);
    const auto port = parse_port(text.substr(colon + 1));
    // "::1" alone would read as host ":" and port 1: IPv6 with a port needs its brackets.
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (!port || host.empty() || (!bracketed && host.find_first_of(":[]/ ") != host.npos)) {
        return std::nullopt;
    }
    return Endpoint{without_brackets(host), *port};
}

std::uint16_t Address::port() const noexcept {
    return ntohs(family() == AF_INET6 ? as<sockaddr_in6>(*this).sin6_port
                                      : as<sockaddr_in>(*this).sin_port);
}

void Address::set_port(std::uint16_t port) noexcept {
    if (family() == AF_INET6) {
        auto in = as<sockaddr_in6>(*this);
        in.sin6_port = htons(port);
        std::memcpy(&storage, &in, sizeof in);
    } else {
        auto in = as<sockaddr_in>(*this);
        in.sin_port = htons(port);
        std::memcpy(&storage, &in, sizeof in);
    }
}

bool Address::is_loopback() const noexcept {
    if (family() == AF_INET6) {
        const auto in = as<sockaddr_in6>(*this);
        // Where a socket serves both kinds, ::ffff:127.0.0.1 is an IPv4 peer.
        return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) && in.sin6_addr.s6_addr[12] == 127);
    }
    return ntohl(as<sockaddr_in>(*this).sin_addr.s_addr) >> 24 == 127;
}

std::string Address::text() const {
    char host[NI_MAXHOST] = "?";
    ::getnameinfo(get(), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
    return join(host, port());
}

Resolved resolve(const Endpoint& endpoint) {
    const Lookup lookup(endpoint, AI_NUMERICSERV);
    if (!lookup.error.empty()) {
        return {{}, lookup.error};
    }
    Resolved out;
    for (const addrinfo* entry = lookup.list.get(); entry != nullptr; entry = entry->ai_next) {
        if (entry->ai_family == AF_INET || entry->ai_family == AF_INET6) {
            Address address;
            std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
            address.size = entry->ai_addrlen;
            out.addresses.push_back(address);
        }
    }
    if (out.addresses.empty()) {
        out.error = "no IPv4 or IPv6 address";
    }
    return out;
}

bool is_numeric(const std::string& host) {
    return Lookup({host, 0}, AI_NUMERICSERV | AI_NUMERICHOST).error.empty();
}

bool means_the_same_everywhere(const std::string& host) {
    return is_numeric(host) || host == "localhost" || host.starts_with("localhost.") ||
           host.ends_with(".localhost") || host == "ip6-localhost" || host == "ip6-loopback";
}

bool is_local(const Address& address) {
    const UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    Address probe = address;
    probe.set_port(0);
    return fd && ::bind(fd.get(), probe.get(), probe.size) == 0;
}

Address local_address(int fd) { return name_of(fd, ::getsockname); }

Address remote_address(int fd) { return name_of(fd, ::getpeername); }

bool is_of_this_host(int fd) {
    Address here = local_address(fd);
    Address there = remote_address(fd);
    here.set_port(0);
    there.set_port(0);
    return there.size != 0 && (there.is_loopback() || there.text() == here.text());
}

}  // namespace trireme::store
