#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/limits.h"
#include "store/proof.h"
#include "store/protocol.h"
#include "store/tcp_connect.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme {
namespace {

using namespace store;
using namespace std::chrono_literals;

// The server answers a wait when its time is up, with the keys that are missing. Only a server
// that is stopped or cut off is later than this.
constexpr Timeout grace = 3s;

// Idle connections that are kept; at the same time run as many calls as there are threads.
constexpr std::size_t max_idle = 4;

// A call, for error texts.
struct Purpose {
    std::string_view verb;
    std::span<const std::string> keys;

    std::string text() const {
        return keys.empty() ? std::string(verb) : fmt::format("{} {}", verb, listed(keys));
    }
};

/// Each call borrows a connection of its own, so that a long wait of one thread blocks no other.
/// A connection whose call failed is closed and never used again: no reply can reach the wrong
/// call.
class TcpStore final : public Store {
public:
    TcpStore(Endpoint endpoint, Timeout timeout, std::string token)
        : endpoint_(std::move(endpoint)),
          token_(std::move(token)),
          patience_(std::max<Timeout>(timeout, 5s)) {
        idle_.push_back(connect_first(endpoint_, token_, timeout));
        address_ = idle_.front().remote();
        server_id_ = idle_.front().server_id();
    }

    void set(std::string_view key, std::string_view value) override {
        check_value(key, value);
        call(Writer(Verb::set).bytes(key).bytes(value).take(), "set", key);
    }

    std::string get(std::string_view key, Timeout timeout) override {
        const std::string keys[] = {std::string(key)};
        const std::string reply =
            wait_call(Writer(Verb::get).i64(on_wire(timeout)).bytes(key).take(), keys, timeout);
        return parse(reply, [](Reader& in) { return std::string(in.value()); });
    }

    void wait(std::span<const std::string> keys, Timeout timeout) override {
        wait_call(Writer(Verb::wait).i64(on_wire(timeout)).keys(keys).take(), keys, timeout);
    }

    std::int64_t add(std::string_view key, std::int64_t amount) override {
        const std::string reply =
            call(Writer(Verb::add).bytes(key).i64(amount).take(), "add to", key);
        return parse(reply, [](Reader& in) { return in.i64(); });
    }

    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        check_value(key, expected);
        check_value(key, desired);
        const std::string reply =
            call(Writer(Verb::compare_set).bytes(key).bytes(expected).bytes(desired).take(),
                 "compare and set", key);
        return parse(reply, [](Reader& in) { return std::string(in.value()); });
    }

    bool delete_key(std::string_view key) override {
        const std::string reply = call(Writer(Verb::delete_key).bytes(key).take(), "delete", key);
        return parse(reply, [](Reader& in) { return in.u8() != 0; });
    }

    bool check(std::span<const std::string> keys) override {
        const std::string reply =
            exchange(Writer(Verb::check).keys(keys).take(), {"check", keys}, Deadline(patience_));
        return parse(reply, [](Reader& in) { return in.u8() != 0; });
    }

    std::int64_t num_keys() override {
        const std::string reply =
            exchange(Writer(Verb::num_keys).take(), {"count the keys", {}}, Deadline(patience_));
        return parse(reply, [](Reader& in) { return in.i64(); });
    }

    std::string describe() const override {
        return fmt::format("tcp store at {}", endpoint_.text());
    }

private:
    static std::int64_t on_wire(Timeout timeout) { return Deadline::clamp(timeout).count(); }

    // The results of a reply, which is all that follows its status.
    template <class Results>
    std::invoke_result_t<Results, Reader&> parse(std::string_view reply, Results results) const {
        try {
            Reader in(reply.substr(1));
            auto out = results(in);
            in.end();
            return out;
        } catch (const ProtocolError& error) {
            throw_malformed(error);
        }
    }

    [[noreturn]] void throw_malformed(const ProtocolError& error) const {
        throw Error(ErrorCode::store,
                    fmt::format("{}: its reply is malformed: {}", describe(), error.what()));
    }

    std::string call(const std::string& request, std::string_view verb, std::string_view key) {
        const std::string keys[] = {std::string(key)};
        return exchange(request, {verb, keys}, Deadline(patience_));
    }

    std::string wait_call(const std::string& request, std::span<const std::string> keys,
                          Timeout timeout) {
        std::string reply =
            exchange(request, {"wait for", keys}, Deadline(Deadline::clamp(timeout) + grace));
        if (static_cast<Status>(reply.front()) == Status::timeout) {
            const auto missing = parse(reply, [](Reader& in) { return in.keys(); });
            throw_wait_timeout(describe(), missing, timeout);
        }
        return reply;
    }

    /// Sends a request and returns the reply, unless that is a refusal.
    std::string exchange(const std::string& request, const Purpose& purpose,
                         const Deadline& deadline) {
        check_keys(purpose.keys);
        if (request.size() > max_frame_size) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{}: the request has {} bytes, {} are allowed: {}", describe(),
                                    request.size(), max_frame_size, purpose.text()));
        }
        std::string reply;
        try {
            TcpConnection connection = borrow(deadline);
            reply = connection.call(request, deadline);
            give_back(std::move(connection));
        } catch (const TcpConnection::Broken& broken) {
            throw Error(ErrorCode::store,
                        fmt::format("{}: lost the connection while about to {}: {} (the process "
                                    "that hosts the store may have ended)",
                                    describe(), purpose.text(), broken.what()));
        } catch (const TcpConnection::Late&) {
            throw Error(ErrorCode::timeout,
                        fmt::format("{}: no answer in time when asked to {} (the process that "
                                    "hosts the store, or its host, may be stopped)",
                                    describe(), purpose.text()));
        }
        if (reply.empty()) {
            throw_malformed(ProtocolError("it is empty"));
        }
        if (static_cast<Status>(reply.front()) == Status::refused) {
            const auto why = parse(reply, [](Reader& in) { return std::string(in.bytes()); });
            throw Error(ErrorCode::store, fmt::format("{}: {}", describe(), why));
        }
        return reply;
    }

    TcpConnection borrow(const Deadline& deadline) {
        {
            const std::lock_guard lock(mutex_);
            if (pid_ != ::getpid()) {
                idle_.clear();  // a forked child: these belong to the parent
                pid_ = ::getpid();
            }
            while (!idle_.empty()) {
                TcpConnection connection = std::move(idle_.back());
                idle_.pop_back();
                if (connection.is_idle()) {
                    return connection;
                }
            }
        }
        return connect_again(endpoint_, token_, address_, server_id_, deadline);
    }

    void give_back(TcpConnection connection) {
        const std::lock_guard lock(mutex_);
        if (idle_.size() < max_idle) {
            idle_.push_back(std::move(connection));
        }
    }

    const Endpoint endpoint_;
    const std::string token_;
    const Timeout patience_;  // of verbs that have no timeout of their own
    Address address_;         // the one of the host's addresses that answered
    std::string server_id_;
    std::mutex mutex_;
    std::vector<TcpConnection> idle_;
    pid_t pid_ = ::getpid();
};

}  // namespace

std::shared_ptr<Store> tcp_store(const std::string& host, std::uint16_t port, Timeout timeout,
                                 std::optional<std::string> token) {
    return std::make_shared<TcpStore>(Endpoint{without_brackets(host), port}, timeout,
                                      token ? *std::move(token) : job_token());
}

}  // namespace trireme
