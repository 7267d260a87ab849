// The TCP store's client against servers that are late, silent or something else.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "core/unique_fd.h"
#include "store/listener.h"
#include "store/support.h"

namespace trireme::test {
namespace {

std::uint16_t free_port() { return TcpStoreServer().port(); }

/// Accepts one connection after the other, says `greeting` and closes.
class OtherServer {
public:
    explicit OtherServer(std::string greeting)
        : listeners_(store::listen_on({"127.0.0.1", 0})),
          greeting_(std::move(greeting)),
          thread_([this] { run(); }) {}
    ~OtherServer() {
        stop_ = true;
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return listeners_.endpoint.port; }

private:
    void run() {
        while (!stop_) {
            const UniqueFd fd(::accept(listeners_.sockets[0].get(), nullptr, nullptr));
            if (fd) {
                char bytes[64];
                static_cast<void>(::recv(fd.get(), bytes, sizeof bytes, 0));
                static_cast<void>(
                    ::send(fd.get(), greeting_.data(), greeting_.size(), MSG_NOSIGNAL));
            } else {
                std::this_thread::sleep_for(1ms);
            }
        }
    }

    store::Listeners listeners_;
    std::string greeting_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

TEST(TcpClient, WaitsForTheServerToCome) {
    const std::uint16_t port = free_port();
    std::unique_ptr<TcpStoreServer> server;
    std::thread starter([&] {
        std::this_thread::sleep_for(100ms);
        server = std::make_unique<TcpStoreServer>("127.0.0.1", port);
    });
    const auto client = tcp_store("localhost", port, plenty);
    client->set("key", "value");
    starter.join();
}

TEST(TcpClient, SaysWhichAddressesItTried) {
    const std::uint16_t port = free_port();
    const std::string number = std::to_string(port);
    expect_error(ErrorCode::timeout,
                 {"localhost:" + number, "127.0.0.1:" + number, "refused", "200 ms"},
                 [&] { (void)tcp_store("localhost", port, 200ms); });
    expect_error(ErrorCode::timeout, {"no-such-host.invalid"},
                 [&] { (void)tcp_store("no-such-host.invalid", port, 50ms); });
}

TEST(TcpClient, KnowsThatAnotherProgramListens) {
    const OtherServer http("HTTP/1.1 400 Bad Request\r\n\r\n");
    expect_error_at_once(ErrorCode::store,
                         {"127.0.0.1:" + std::to_string(http.port()), "HTTP/1.1 400"},
                         [&] { (void)tcp_store("127.0.0.1", http.port(), plenty); });
    const OtherServer rude("");
    expect_error(ErrorCode::timeout, {"127.0.0.1:" + std::to_string(rude.port()), "closed"},
                 [&] { (void)tcp_store("127.0.0.1", rude.port(), 200ms); });
    const store::Listeners silent = store::listen_on({"127.0.0.1", 0});
    const std::uint16_t port = silent.endpoint.port;
    expect_error(ErrorCode::timeout, {"127.0.0.1:" + std::to_string(port), "silent"},
                 [&] { (void)tcp_store("127.0.0.1", port, 200ms); });
}

TEST(TcpClient, DoesNotGoOnInTheNextStoreOnThePort) {
    auto server = std::make_unique<TcpStoreServer>();
    const std::uint16_t port = server->port();
    const auto client = tcp_store("127.0.0.1", port, plenty);
    client->set("key", "value");
    server.reset();
    server = std::make_unique<TcpStoreServer>("127.0.0.1", port);
    expect_error_at_once(ErrorCode::store, {std::to_string(port), "another store"},
                         [&] { client->set("key", "value"); });
    EXPECT_EQ(tcp_store("127.0.0.1", port, plenty)->num_keys(), 0);
}

TEST(TcpClient, IsUsableInAForkedChild) {
    const TcpStoreServer server;
    const auto client = tcp_store("127.0.0.1", server.port(), plenty);
    client->set("from", "parent");
    const pid_t child = ::fork();
    if (child == 0) {
        bool right = false;
        try {
            right = client->get("from", plenty) == "parent";
            client->set("from", "child");
        } catch (const std::exception&) {
        }
        ::_exit(right ? 0 : 1);
    }
    for (int i = 0; i < 100; ++i) {
        client->add("count", 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(client->get("from", plenty), "child");
    EXPECT_EQ(client->add("count", 0), 100);
}

TEST(TcpClient, AServerThatIsStoppedIsATimeout) {
    int ports[2];
    ASSERT_EQ(::pipe(ports), 0);
    const pid_t host = ::fork();
    if (host == 0) {
        const TcpStoreServer server;
        const std::uint16_t port = server.port();
        static_cast<void>(::write(ports[1], &port, sizeof port) == 0);
        ::pause();
    }
    std::uint16_t port = 0;
    ASSERT_EQ(::read(ports[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
    const auto client = tcp_store("127.0.0.1", port, plenty);
    ::kill(host, SIGSTOP);
    expect_error_at_once(ErrorCode::timeout, {"'absent'", "stopped"},
                         [&] { (void)client->get("absent", 50ms); });
    ::kill(host, SIGCONT);
    client->set("key", "value");
    EXPECT_EQ(client->get("key", plenty), "value");
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
    expect_error_at_once(ErrorCode::store, {std::to_string(port)},
                         [&] { client->set("key", "value"); });
    ::close(ports[0]);
    ::close(ports[1]);
}

}  // namespace
}  // namespace trireme::test
