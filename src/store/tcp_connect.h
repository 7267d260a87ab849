#pragma once

#include "store/tcp_connection.h"

namespace trireme::store {

/// Connects a client for the first time: tries every address of the host, again and again, until
/// `timeout`. The server may not be up yet, its name not be known yet, its queue overflow because
/// thousands come at once. Throws `Error(timeout)` with the addresses, what each said and how
/// often, or at once `Error(store)` where something else than a store answers there, or where the
/// store has another token.
[[nodiscard]] TcpConnection connect_first(const Endpoint& endpoint, const std::string& token,
                                          Timeout timeout);

/// Connects a client that has been connected to this very server before. A server that does not
/// listen any more, or in whose place another one does, has gone: `Error(store)` at once.
[[nodiscard]] TcpConnection connect_again(const Endpoint& endpoint, const std::string& token,
                                          const Address& address, const std::string& server_id,
                                          const Deadline& deadline);

}  // namespace trireme::store
