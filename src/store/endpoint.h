#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::store {

/// A host, by name or number and without brackets, and a port.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;

    /// "node1:29500", "[::1]:29500".
    [[nodiscard]] std::string text() const;
};

/// "[::1]" and "::1" are the same host.
[[nodiscard]] std::string without_brackets(std::string_view host);

/// A port from 1 to 65535 and nothing else.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text);

/// "host:port" or "[v6]:port"; nothing where that is not what `text` is.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);

/// One numeric address with its port.
struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
    [[nodiscard]] int family() const noexcept { return storage.ss_family; }
    [[nodiscard]] std::uint16_t port() const noexcept;
    void set_port(std::uint16_t port) noexcept;
    [[nodiscard]] bool is_loopback() const noexcept;

    /// "127.0.0.1:29500", "[::1]:29500".
    [[nodiscard]] std::string text() const;
};

struct Resolved {
    std::vector<Address> addresses;
    std::string error;  // why there are none
};

/// The addresses of an endpoint, in the order of the system's preference. A name is looked up for
/// as long as the system's resolver takes. Never throws for an unknown name: it may become known.
[[nodiscard]] Resolved resolve(const Endpoint& endpoint);

/// Whether `host` is an address rather than a name.
[[nodiscard]] bool is_numeric(const std::string& host);

/// Whether `host` means the same kind of address on every host: it is a number, or localhost. A
/// name may be loopback on this host alone, as Debian's 127.0.1.1 makes the host's own name.
[[nodiscard]] bool means_the_same_everywhere(const std::string& host);

/// Whether a server on this host can bind to the address.
[[nodiscard]] bool is_local(const Address& address);

/// The address of the local, or of the other, end of a socket.
[[nodiscard]] Address local_address(int fd);
[[nodiscard]] Address remote_address(int fd);

/// Whether a connected socket's other end is on this host: it has a loopback address, or the one
/// that this end has.
[[nodiscard]] bool is_of_this_host(int fd);

}  // namespace trireme::store
