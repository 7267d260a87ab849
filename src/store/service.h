#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/table.h"
#include "trireme/types.h"

namespace trireme::store {

/// What the TCP store's server does with requests, apart from sockets: it answers them from its
/// table, and holds those back that wait for keys. Not thread-safe.
class Service {
public:
    /// A reply: the inside of a frame is `head`, followed by `*value` where there is one. Values
    /// stay out of the head so that sending one to many clients copies nothing.
    struct Reply {
        std::string head;
        Value value;
    };

    /// The other end of a connection.
    class Client {
    public:
        virtual ~Client() = default;
        /// Sends the reply to its request.
        virtual void answer(Reply reply) noexcept = 0;
        /// Its request waits: call `expire` after `timeout` unless the answer came before.
        virtual void park(Timeout timeout) = 0;
    };

    /// Calls `answer` or `park`, and `answer` of others that waited for what this request sets.
    /// Throws ProtocolError where the bytes are no request.
    void handle(Client& client, std::string_view request);

    /// Answers a request that waits with the keys that are missing.
    void expire(Client& client);

    /// The client is gone, or going.
    void forget(Client& client) noexcept;

private:
    struct Wait {
        std::vector<std::string> keys;
        std::size_t open = 0;  // how many of them it is still registered for
        bool wants_value = false;
    };

    void start_wait(Client& client, Wait wait, Timeout timeout);
    /// Registers for the keys that are missing; false where none is.
    bool enroll(Client& client, Wait& wait);
    void finish_wait(Client& client);
    void put(std::string_view key, std::string_view value);

    Table table_;
    std::unordered_map<Client*, Wait> waits_;
    std::unordered_map<std::string, std::unordered_set<Client*>> waiting_;  // by missing key
};

}  // namespace trireme::store
