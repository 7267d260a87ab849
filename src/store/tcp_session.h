#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "store/proof.h"
#include "store/protocol.h"
#include "store/service.h"

namespace trireme::store {

class TcpSession;

/// What the sessions of a server share; used on the server's thread only.
struct TcpHub {
    Service service;
    std::string token;
    bool insecure = false;  // without a token, let other hosts in
    std::string server_id = new_server_id();
    std::unordered_map<TcpSession*, std::shared_ptr<TcpSession>> sessions;
    std::list<TcpSession*> strangers;  // those that have proved nothing, the oldest first
};

/// One connection of the TCP store's server. Included by the server's own sources only: Asio is
/// slow to compile.
class TcpSession final : public Service::Client, public std::enable_shared_from_this<TcpSession> {
public:
    using Tcp = asio::ip::tcp;

    TcpSession(Tcp::socket socket, TcpHub& hub);
    void start();
    void close() noexcept;

    void answer(Service::Reply reply) noexcept override;
    void park(Timeout timeout) override;

private:
    template <class Handler>
    auto guarded(Handler handler);
    template <class Handler>
    void limit_time(Timeout timeout, Handler handler);
    void free_time();

    void greet();
    void challenge();
    void judge();
    [[nodiscard]] Verdict verdict();
    void read_length();
    void read_body(std::size_t size);
    void handle();
    void send(std::string length, const std::string& head, Value value);

    Tcp::socket socket_;
    asio::steady_timer timer_;
    TcpHub& hub_;
    std::list<TcpSession*>::iterator stranger_;
    bool open_ = true;
    bool parked_ = false;
    std::uint64_t timer_round_ = 0;
    std::uint64_t park_round_ = 0;
    std::array<char, hello_size> hello_{};
    std::array<char, nonce_size> client_nonce_{};
    std::array<char, proof_size> client_proof_{};
    std::string nonce_;
    std::array<char, 4> length_{};
    std::string body_;
    std::string out_head_;
    Value out_value_;
};

}  // namespace trireme::store
