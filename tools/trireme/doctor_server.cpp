// The doctor who listens.

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <asio/ip/v6_only.hpp>

#include "doctor_channel.h"
#include "doctor_connection.h"
#include "doctor_lookup.h"

namespace trireme::tool {
namespace {

using asio::ip::tcp;
using ServerClock = std::chrono::steady_clock;

// Nobody is listened to for longer than this.
constexpr std::chrono::seconds longest_visit{20};

tcp::acceptor listen_everywhere(asio::io_context& context, std::uint16_t port) {
    std::string why;
    // An IPv6 socket takes both versions, where there is IPv6.
    for (const tcp& version : {tcp::v6(), tcp::v4()}) {
        try {
            tcp::acceptor acceptor(context, version);
            if (version == tcp::v6()) {
                acceptor.set_option(asio::ip::v6_only(false));
            }
            acceptor.set_option(tcp::acceptor::reuse_address(true));
            acceptor.bind({version, port});
            acceptor.listen();
            return acceptor;
        } catch (const std::system_error& error) {
            why = error.code().message();
        }
    }
    throw Failure(fmt::format("doctor: cannot listen on port {}: {}", port, why));
}

std::int64_t take_flow(DoctorChannel& channel, ServerClock::time_point end) {
    std::vector<char> chunk(std::size_t{256} << 10);
    std::int64_t total = 0;
    for (;;) {
        bool closed = false;
        channel.run("flow", DoctorChannel::limit, [&](auto done) {
            channel.socket().async_read_some(
                asio::buffer(chunk),
                [&, done](const asio::error_code& error, std::size_t bytes) mutable {
                    closed = error == asio::error::eof;
                    total += static_cast<std::int64_t>(bytes);
                    done(closed ? asio::error_code() : error);
                });
        });
        if (closed) {
            return total;
        }
        if (ServerClock::now() > end) {
            throw Failure("it sends without end");
        }
    }
}

// What was done for the visitor.
std::string serve_visitor(DoctorChannel& channel) {
    const auto end = ServerClock::now() + longest_visit;
    channel.socket().set_option(tcp::no_delay(true));
    if (channel.receive("greeting") != DoctorChannel::greeting) {
        throw Failure("it is no trireme doctor");
    }
    channel.send("greeting", DoctorChannel::greeting);
    int pings = 0;
    while (ServerClock::now() < end) {
        const DoctorChannel::Message message = channel.receive("request");
        if (message == DoctorChannel::ping) {
            channel.send("answer", DoctorChannel::message_of(DoctorChannel::time_of_day()));
            ++pings;
        } else if (message == DoctorChannel::flow) {
            const std::int64_t bytes = take_flow(channel, end);
            channel.send("answer", DoctorChannel::message_of(bytes));
            return fmt::format("{} round trips, {} received", pings,
                               bytes_text(static_cast<double>(bytes)));
        } else {
            throw Failure("it sends what is no request");
        }
    }
    throw Failure("it takes too long");
}

}  // namespace

int serve_doctors(std::uint16_t port, std::chrono::seconds time) {
    asio::io_context listening{1};
    tcp::acceptor acceptor = listen_everywhere(listening, port);
    acceptor.non_blocking(true);
    const auto end = ServerClock::now() + time;
    fmt::print(
        "listening on port {0} for {1} s; on the other hosts: trireme doctor --connect "
        "HOST:{0}\n",
        acceptor.local_endpoint().port(), time.count());
    std::fflush(stdout);
    while (ServerClock::now() < end) {
        DoctorChannel channel;
        bool came = false;
        // The visitor's socket belongs to the channel, whose context runs it.
        acceptor.async_accept(channel.socket(),
                              [&](const asio::error_code& error) { came = !error; });
        listening.restart();
        listening.run_until(end);
        if (!came) {
            asio::error_code ignored;
            acceptor.cancel(ignored);  // NOLINT(bugprone-unused-return-value): it is in `ignored`
            listening.run();
            continue;
        }
        std::string who = "a visitor";
        try {
            const auto address = channel.socket().remote_endpoint().address();
            who = address.to_string();
            // An IPv4 visitor at an IPv6 socket.
            if (constexpr std::string_view mapped = "::ffff:"; who.starts_with(mapped)) {
                who.erase(0, mapped.size());
            }
            fmt::print("{}: {}\n", who, serve_visitor(channel));
        } catch (const std::exception& error) {
            fmt::print("{}: {}\n", who, error.what());
        }
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace trireme::tool
