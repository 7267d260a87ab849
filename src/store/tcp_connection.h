#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/unique_fd.h"
#include "store/deadline.h"
#include "store/endpoint.h"

namespace trireme::store {

/// A client's end of a connection to a TCP store's server: plain blocking calls with deadlines.
/// Used by one thread at a time. After an exception its state is unknown: throw it away.
class TcpConnection {
public:
    /// The connection could not be made or has ended; `error` is the errno, 0 for a proper end.
    struct Broken : std::runtime_error {
        Broken(const std::string& text, int code) : std::runtime_error(text), error(code) {}
        int error;
    };
    /// The deadline has passed.
    struct Late : std::runtime_error {
        Late() : std::runtime_error("no answer in time") {}
    };
    /// The other end is something else than a server of this protocol version.
    struct Foreign : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    /// The server does not let this process in.
    struct Denied : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    /// Connects and says hello, the first by `connect_by`, both by `hello_by`.
    TcpConnection(const Address& address, const std::string& token, const Deadline& connect_by,
                  const Deadline& hello_by);

    /// Sends the inside of a request, returns the inside of the reply.
    [[nodiscard]] std::string call(std::string_view request, const Deadline& deadline);

    /// Whether it may be used again: alive, with nothing unread.
    [[nodiscard]] bool is_idle() const noexcept;

    /// Tells the server from others that have listened, or will, on the same port.
    [[nodiscard]] const std::string& server_id() const noexcept { return server_id_; }

    [[nodiscard]] Address remote() const { return remote_address(socket_.get()); }

private:
    void connect(const Address& address, const Deadline& deadline);
    void greet(const std::string& token, const Deadline& deadline);
    void send(std::string_view bytes, const Deadline& deadline, bool more);
    void receive(char* bytes, std::size_t size, const Deadline& deadline);
    std::string receive(std::size_t size, const Deadline& deadline);
    void await(short events, const Deadline& deadline) const;

    UniqueFd socket_;
    std::string server_id_;
};

}  // namespace trireme::store
