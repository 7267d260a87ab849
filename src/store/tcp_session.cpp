#include "store/tcp_session.h"

#include <asio/buffer.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include "store/deadline.h"
#include "store/endpoint.h"

namespace trireme::store {
namespace {

using namespace std::chrono_literals;

// How long a connection may take to say hello and prove what it knows.
constexpr Timeout hello_patience = 20s;

// How long the bytes of a frame may take. Between frames a client may be silent for ever.
Timeout patience(std::size_t bytes) { return 30s + 1s * (bytes >> 20); }

}  // namespace

// Wraps a completion handler: it keeps the session alive, ends it on an error or an exception,
// and does nothing once it is closed. No exception leaves for the server's thread.
template <class Handler>
auto TcpSession::guarded(Handler handler) {
    return [self = shared_from_this(), handler](const std::error_code& error, auto&&...) {
        if (!self->open_) {
            return;
        }
        if (error) {
            return self->close();
        }
        try {
            handler();
        } catch (...) {
            self->close();
        }
    };
}

// Calls `handler` after `timeout`, unless the limit is lifted or another one is set before.
template <class Handler>
void TcpSession::limit_time(Timeout timeout, Handler handler) {
    timer_.expires_after(Deadline::clamp(timeout));
    // A cancelled timer's handler may already be on its way: the round tells.
    timer_.async_wait(
        [self = shared_from_this(), handler, round = ++timer_round_](const std::error_code& error) {
            if (error || !self->open_ || self->timer_round_ != round) {
                return;
            }
            try {
                handler();
            } catch (...) {
                self->close();
            }
        });
}

void TcpSession::free_time() {
    ++timer_round_;
    timer_.cancel();
}

TcpSession::TcpSession(Tcp::socket socket, TcpHub& hub)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      hub_(hub),
      stranger_(hub.strangers.insert(hub.strangers.end(), this)) {}

void TcpSession::start() {
    limit_time(hello_patience, [this] { close(); });
    asio::async_read(socket_, asio::buffer(hello_), guarded([this] { greet(); }));
}

void TcpSession::close() noexcept {
    if (!open_) {
        return;
    }
    open_ = false;
    hub_.service.forget(*this);
    if (stranger_ != hub_.strangers.end()) {
        hub_.strangers.erase(stranger_);
    }
    free_time();
    std::error_code ignored;
    // Ends the connection even if a forked child holds a copy of the descriptor.
    socket_.shutdown(Tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    hub_.sessions.erase(this);  // the last statement: the session may end here
}

void TcpSession::greet() {
    if (std::string_view(hello_.data(), hello_.size()) != client_hello()) {
        return close();
    }
    asio::async_read(socket_, asio::buffer(client_nonce_), guarded([this] { challenge(); }));
}

void TcpSession::challenge() {
    nonce_ = random_bytes(nonce_size);
    out_head_ = server_hello() + hub_.server_id + nonce_;
    asio::async_write(socket_, asio::buffer(out_head_), guarded([this] {
                          asio::async_read(socket_, asio::buffer(client_proof_),
                                           guarded([this] { judge(); }));
                      }));
}

Verdict TcpSession::verdict() {
    const std::string expected =
        client_proof(hub_.token, {client_nonce_.data(), client_nonce_.size()}, nonce_);
    if (!same_proof({client_proof_.data(), client_proof_.size()}, expected)) {
        return Verdict::tokens_differ;
    }
    const bool may_come =
        !hub_.token.empty() || hub_.insecure || is_of_this_host(socket_.native_handle());
    return may_come ? Verdict::welcome : Verdict::other_host;
}

void TcpSession::judge() {
    const Verdict found = verdict();
    const std::string head(1, static_cast<char>(found));
    if (found == Verdict::welcome) {
        hub_.strangers.erase(stranger_);
        stranger_ = hub_.strangers.end();
        return send(head,
                    server_proof(hub_.token, {client_nonce_.data(), client_nonce_.size()}, nonce_),
                    nullptr);
    }
    out_head_ = head;
    asio::async_write(socket_, asio::buffer(out_head_), guarded([this] { close(); }));
}

void TcpSession::read_length() {
    free_time();
    asio::async_read(socket_, asio::buffer(length_), guarded([this] {
                         const auto size = decode_length({length_.data(), length_.size()});
                         if (size > max_frame_size) {
                             return close();
                         }
                         body_.clear();
                         read_body(size);
                     }));
}

// The buffer at most doubles with each piece: a length is only a claim.
void TcpSession::read_body(std::size_t size) {
    const std::size_t have = body_.size();
    if (have == size) {
        return handle();
    }
    const std::size_t piece = std::min(size - have, std::max(have, std::size_t{64} << 10));
    body_.resize(have + piece);
    limit_time(patience(piece), [this] { close(); });
    asio::async_read(socket_, asio::buffer(body_.data() + have, piece),
                     guarded([this, size] { read_body(size); }));
}

void TcpSession::handle() {
    free_time();
    const std::string body = std::exchange(body_, {});  // a large one is freed at the end
    hub_.service.handle(*this, body);
}

void TcpSession::park(Timeout timeout) {
    parked_ = true;
    limit_time(timeout, [this] { hub_.service.expire(*this); });
    // Nothing may come now: what does is the end, or breaks the protocol. After the answer it may
    // be the next request, and this handler is void.
    socket_.async_wait(Tcp::socket::wait_read, [self = shared_from_this(), round = ++park_round_](
                                                   const std::error_code& error) {
        if (!error && self->parked_ && self->park_round_ == round) {
            self->close();
        }
    });
}

void TcpSession::answer(Service::Reply reply) noexcept {
    const auto self = shared_from_this();
    if (!open_) {
        return;
    }
    try {
        if (parked_) {
            parked_ = false;
            socket_.cancel();
        }
        const std::size_t size = reply.head.size() + (reply.value ? reply.value->size() : 0);
        send(encode_length(size), reply.head, std::move(reply.value));
    } catch (...) {
        close();
    }
}

void TcpSession::send(std::string length, const std::string& head, Value value) {
    out_head_ = std::move(length) + head;
    out_value_ = std::move(value);
    const std::string_view tail = out_value_ ? std::string_view(*out_value_) : std::string_view();
    limit_time(patience(tail.size()), [this] { close(); });
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(out_head_), asio::buffer(tail)};
    asio::async_write(socket_, buffers, guarded([this] {
                          out_value_ = nullptr;
                          read_length();
                      }));
}

}  // namespace trireme::store
