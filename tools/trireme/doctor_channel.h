#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include "failure.h"

namespace trireme::tool {

/// A TCP connection of which no step takes longer than its limit.
///
/// What two doctors say, in messages of eight bytes: the client its greeting, and the server the
/// same one; then any number of `ping`, each answered by the server's time of day; then `flow` and
/// as many bytes as the client likes, until it closes its side: the server answers how many.
class DoctorChannel {
public:
    using Message = std::array<char, 8>;
    static constexpr Message greeting{'t', 'r', 'i', 'd', 'o', 'c', '/', '1'};
    static constexpr Message ping{'p', 'i', 'n', 'g', ' ', ' ', ' ', ' '};
    static constexpr Message flow{'f', 'l', 'o', 'w', ' ', ' ', ' ', ' '};
    static constexpr std::chrono::seconds limit{5};

    [[nodiscard]] asio::ip::tcp::socket& socket() noexcept { return socket_; }
    [[nodiscard]] asio::io_context& context() noexcept { return context_; }

    /// Runs what `start` starts with the handler that it is given; throws Failure, which begins
    /// with `what`, where it fails or takes longer than `time`.
    template <class Start>
    void run(const std::string& what, std::chrono::milliseconds time, Start start) {
        bool ended = false;
        asio::error_code error;
        start([&](const asio::error_code& outcome, auto&&...) {
            error = outcome;
            ended = true;
        });
        context_.restart();
        context_.run_for(time);
        if (!ended) {
            asio::error_code ignored;
            socket_.close(ignored);  // NOLINT(bugprone-unused-return-value): it is in `ignored`
            context_.run();
            throw Failure(what + ": no answer within " + std::to_string(time.count()) + " ms");
        }
        if (error) {
            throw Failure(what + ": " + error.message());
        }
    }

    void send(const std::string& what, const Message& message) {
        run(what, limit,
            [&](auto done) { asio::async_write(socket_, asio::buffer(message), std::move(done)); });
    }

    [[nodiscard]] Message receive(const std::string& what) {
        Message message{};
        run(what, limit,
            [&](auto done) { asio::async_read(socket_, asio::buffer(message), std::move(done)); });
        return message;
    }

    /// A number as a message, the lowest byte first.
    [[nodiscard]] static Message message_of(std::int64_t number) {
        Message message{};
        for (std::size_t i = 0; i < message.size(); ++i) {
            message[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
        }
        return message;
    }
    [[nodiscard]] static std::int64_t number_in(const Message& message) {
        std::uint64_t number = 0;
        for (std::size_t i = message.size(); i-- > 0;) {
            number = number << 8 | static_cast<unsigned char>(message[i]);
        }
        return static_cast<std::int64_t>(number);
    }

    /// Nanoseconds, by the clock of day: the one that hosts have in common.
    [[nodiscard]] static std::int64_t time_of_day() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }

private:
    asio::io_context context_{1};
    asio::ip::tcp::socket socket_{context_};
};

}  // namespace trireme::tool
