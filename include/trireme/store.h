#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/types.h"

namespace trireme {

/// A key-value store that all ranks share: how they find one another, and the control plane.
///
/// Values are byte strings. Every call is safe from several threads, blocks for its timeout at
/// most and throws `Error` (`ErrorCode::timeout`, naming the keys that are missing, or
/// `ErrorCode::store`, naming the address or path). A call that timed out leaves the store
/// usable. Counterpart: torch.distributed.Store; only verbs that exist there too are used to
/// bring a world up, so that a foreign store can serve.
class Store {
public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    /// Sets `key`, whether or not it exists.
    virtual void set(std::string_view key, std::string_view value) = 0;

    /// The value of `key`; waits until it exists.
    [[nodiscard]] virtual std::string get(std::string_view key, Timeout timeout) = 0;

    /// Waits until every key exists; on timeout the error lists the missing ones.
    virtual void wait(std::span<const std::string> keys, Timeout timeout) = 0;

    /// Adds to the decimal number stored under `key` (0 if it is absent); returns the new value.
    virtual std::int64_t add(std::string_view key, std::int64_t amount) = 0;

    /// Sets `key` to `desired` if its value is `expected`, or if it is absent and `expected` is
    /// empty. Returns the value afterwards: `desired` where it was set, else the present value
    /// (empty if absent).
    virtual std::string compare_set(std::string_view key, std::string_view expected,
                                    std::string_view desired) = 0;

    /// Removes `key`; returns whether it existed.
    virtual bool delete_key(std::string_view key) = 0;

    /// Whether every key exists now.
    [[nodiscard]] virtual bool check(std::span<const std::string> keys) = 0;

    /// Number of keys (for tests and tools).
    [[nodiscard]] virtual std::int64_t num_keys() = 0;

    /// What and where the store is, for error texts: "tcp store at 127.0.0.1:29500".
    [[nodiscard]] virtual std::string describe() const = 0;
};

/// A store inside one process, for ranks that are threads.
[[nodiscard]] std::shared_ptr<Store> memory_store();

/// A store in a file of a file system that all ranks see; `path` is created when absent.
/// Fails at once, with path and errno, where the file cannot be made or locked.
[[nodiscard]] std::shared_ptr<Store> file_store(const std::string& path);

/// A view of `store` in which every key starts with `prefix` + "/".
[[nodiscard]] std::shared_ptr<Store> prefix_store(std::string prefix, std::shared_ptr<Store> store);

/// The server of a TCP store; it serves until it is destroyed.
///
/// Bytes from strangers (port scans, HTTP, absurd lengths, half-open connections) cost bounded
/// memory and only their own connection.
class TcpStoreServer {
public:
    /// Listens on `address`, or on all addresses if it is empty; port 0 lets the kernel pick one.
    /// Throws at once, with host and port, where the port is taken.
    ///
    /// Clients must know the same `token`, of which they and the server convince each other without
    /// sending it; by default that is TRIREME_TOKEN. Where it is empty, only processes of this host
    /// are let in, unless TRIREME_INSECURE=1. Connections are not encrypted.
    explicit TcpStoreServer(const std::string& address = "127.0.0.1", std::uint16_t port = 0,
                            std::optional<std::string> token = std::nullopt);
    TcpStoreServer(const TcpStoreServer&) = delete;
    TcpStoreServer& operator=(const TcpStoreServer&) = delete;
    ~TcpStoreServer();

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A client of a `TcpStoreServer`; keeps trying to connect until `timeout`, then throws with the
/// addresses that it tried. Host names, IPv4 and IPv6 ("[::1]") are understood. Throws at once
/// where the server has another `token`; by default that is TRIREME_TOKEN.
[[nodiscard]] std::shared_ptr<Store> tcp_store(const std::string& host, std::uint16_t port,
                                               Timeout timeout,
                                               std::optional<std::string> token = std::nullopt);

}  // namespace trireme
