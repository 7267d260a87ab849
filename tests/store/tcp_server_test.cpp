// The TCP store's server among clients, strangers and other servers.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <random>

#include "core/unique_fd.h"
#include "store/listener.h"
#include "store/proof.h"
#include "store/protocol.h"
#include "store/support.h"
#include "support/stranger.h"

namespace trireme::test {
namespace {

/// A plain socket to the server, for what no client would send.
void send_bytes(const UniqueFd& fd, const std::string& bytes);

/// Says hello and proves that there is no token, as a client does before its requests.
void introduce(const UniqueFd& fd) {
    const std::string nonce(store::nonce_size, 'n');
    send_bytes(fd, store::client_hello() + nonce);
    std::string answer(store::hello_size + store::server_id_size + store::nonce_size, '\0');
    ASSERT_EQ(::recv(fd.get(), answer.data(), answer.size(), MSG_WAITALL),
              static_cast<ssize_t>(answer.size()));
    const std::string server_nonce = answer.substr(answer.size() - store::nonce_size);
    send_bytes(fd, store::client_proof("", nonce, server_nonce));
}

void send_bytes(const UniqueFd& fd, const std::string& bytes) {
    static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

TEST(TcpServer, BytesOfStrangersCostTheirOwnConnectionOnly) {
    const TcpStoreServer server;
    const auto client = tcp_store("127.0.0.1", server.port(), plenty);
    client->set("key", "value");
    std::mt19937 random(1);
    const std::string hello = store::client_hello();
    std::vector<std::string> words = {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", std::string(12, '\0'),
        std::string(8, '\xff') + std::string(4, '\x7f'),
        hello + std::string(store::nonce_size + store::proof_size, 'x'),  // no proof
    };
    // Of somebody who was let in.
    const std::vector<std::string> frames = {
        std::string(4, '\xff'),                          // 4 GiB follow
        std::string("\x01\0\0\0\xff", 5),                // no such verb
        std::string("\0\0\0\0", 4),                      // no verb
        std::string("\x05\0\0\0\0\xff\xff\xff\xff", 9),  // a key of 4 GiB
        std::string("\x0d\0\0\0\x02\0\0\0\0\0\0\0\x7f\xff\xff\xff", 16),
    };
    for (int i = 0; i < 20; ++i) {
        std::string noise(200, '\0');
        for (char& byte : noise) {
            byte = static_cast<char>(random());
        }
        words.push_back(noise);
    }
    const auto expect_dropped = [&](const UniqueFd& fd, const std::string& message) {
        send_bytes(fd, message);
        ::shutdown(fd.get(), SHUT_WR);
        EXPECT_TRUE(is_dropped(fd));
        EXPECT_EQ(client->get("key", plenty), "value");
    };
    for (const std::string& word : words) {
        expect_dropped(stranger(server.port()), word);
    }
    for (const std::string& frame : frames) {
        const UniqueFd fd = stranger(server.port());
        introduce(fd);
        expect_dropped(fd, frame);
    }
}

TEST(TcpServer, DropsAClientThatSpeaksDuringItsWait) {
    const TcpStoreServer server;
    const UniqueFd fd = stranger(server.port());
    const std::string request = store::Writer(store::Verb::get).i64(60'000).bytes("absent").take();
    introduce(fd);
    send_bytes(fd, store::encode_length(request.size()) + request);
    std::this_thread::sleep_for(50ms);
    send_bytes(fd, "more");
    EXPECT_TRUE(is_dropped(fd));
}

TEST(TcpServer, HalfOpenConnectionsCostLittleMemory) {
    const TcpStoreServer server;
    const auto client = tcp_store("127.0.0.1", server.port(), plenty);
    const std::size_t before = resident_bytes();
    std::vector<UniqueFd> strangers;
    for (int i = 0; i < 200; ++i) {
        strangers.push_back(stranger(server.port()));
        // Some say nothing, some announce a frame that never comes.
        if (i % 2 == 0) {
            introduce(strangers.back());
            send_bytes(strangers.back(), store::encode_length(64 << 20));
        }
        client->add("count", 1);
    }
    EXPECT_EQ(client->add("count", 0), 200);
    if (!is_sanitized) {
        EXPECT_LT(resident_bytes(), before + (std::size_t{16} << 20));
    }
}

TEST(TcpServer, RefusesAPortThatIsTaken) {
    const TcpStoreServer first;
    const std::string where = "127.0.0.1:" + std::to_string(first.port());
    expect_error_at_once(ErrorCode::store, {where, "in use"},
                         [&] { const TcpStoreServer second("127.0.0.1", first.port()); });
    expect_error_at_once(ErrorCode::store, {std::to_string(first.port()), "in use"},
                         [&] { const TcpStoreServer second("", first.port()); });
    const auto client = tcp_store("127.0.0.1", first.port(), plenty);
    client->set("key", "unharmed");
    EXPECT_EQ(client->get("key", plenty), "unharmed");
}

TEST(TcpServer, RefusesAnAddressThatIsNotOfThisHost) {
    expect_error_at_once(ErrorCode::store, {"198.51.100.77:4711", "no address of this host"},
                         [] { const TcpStoreServer server("198.51.100.77", 4711); });
}

TEST(TcpServer, ThePortIsFreeAgainAtOnce) {
    std::uint16_t port = 0;
    for (int round = 0; round < 20; ++round) {
        const TcpStoreServer server("127.0.0.1", port);
        port = server.port();
        const auto client = tcp_store("127.0.0.1", port, plenty);
        // Of the same thread and of another: two connections.
        run_threads(2, [&](int i) { client->set("key" + std::to_string(i), ""); });
        EXPECT_EQ(client->num_keys(), 2);
    }
}

TEST(TcpServer, ThePortIsFreeAlthoughAForkedChildHoldsTheSocket) {
    auto server = std::make_unique<TcpStoreServer>();
    const std::uint16_t port = server->port();
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(gate[1]);
        char byte = 0;
        static_cast<void>(::read(gate[0], &byte, 1) == 0);
        ::_exit(0);
    }
    ::close(gate[0]);
    server.reset();
    const TcpStoreServer next("127.0.0.1", port);
    const auto client = tcp_store("127.0.0.1", port, plenty);
    client->set("key", "");
    ::close(gate[1]);
    ::waitpid(child, nullptr, 0);
}

TEST(TcpServer, ListensOnLoopbackOnlyWhereAsked) {
    const TcpStoreServer server("127.0.0.2");
    EXPECT_NO_THROW((void)tcp_store("127.0.0.2", server.port(), plenty));
    expect_error(ErrorCode::timeout, {"127.0.0.1"},
                 [&] { (void)tcp_store("127.0.0.1", server.port(), 100ms); });
}

TEST(TcpServer, ServesNamesAndBothKindsOfAddress) {
    const auto use = [](const std::string& host, std::uint16_t port) {
        const auto client = tcp_store(host, port, plenty);
        client->set(host, "was here");
        EXPECT_EQ(client->get(host, plenty), "was here");
        return client->describe();
    };
    const TcpStoreServer everywhere("");
    EXPECT_EQ(use("127.0.0.1", everywhere.port()),
              "tcp store at 127.0.0.1:" + std::to_string(everywhere.port()));
    const TcpStoreServer named("localhost");
    use("localhost", named.port());
    std::optional<TcpStoreServer> v6;
    try {
        v6.emplace("::1");
    } catch (const Error&) {
        GTEST_SKIP() << "this host has no IPv6";
    }
    EXPECT_EQ(use("::1", v6->port()), "tcp store at [::1]:" + std::to_string(v6->port()));
    use("[::1]", v6->port());
    const TcpStoreServer bracketed("[::1]");
    use("::1", bracketed.port());
    use("::1", everywhere.port());
}

TEST(TcpServer, ManyClientsAtOnce) {
    const TcpStoreServer server;
    constexpr int threads = 20;
    constexpr int clients = 15;
    run_threads(threads, [&](int i) {
        std::vector<std::shared_ptr<Store>> mine;
        for (int k = 0; k < clients; ++k) {
            mine.push_back(tcp_store("127.0.0.1", server.port(), plenty));
            mine.back()->set("client" + std::to_string(i * clients + k), "");
            mine.back()->add("count", 1);
        }
        mine.front()->add("ready", 1) == threads ? mine.front()->set("all", "") : void();
        for (const auto& client : mine) {
            EXPECT_EQ(client->get("all", plenty), "");
        }
    });
    const auto client = tcp_store("127.0.0.1", server.port(), plenty);
    EXPECT_EQ(client->add("count", 0), threads * clients);
}

TEST(TcpServer, EndsWhileClientsWait) {
    auto server = std::make_unique<TcpStoreServer>();
    const std::uint16_t port = server->port();
    std::atomic<int> connected = 0;
    std::thread ender([&] {
        while (connected < 4) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(20ms);
        server.reset();
    });
    run_threads(4, [&](int) {
        const auto client = tcp_store("127.0.0.1", port, plenty);
        ++connected;
        expect_error_at_once(ErrorCode::store, {"127.0.0.1:" + std::to_string(port), "'absent'"},
                             [&] { (void)client->get("absent", plenty); });
        expect_error_at_once(ErrorCode::store, {"127.0.0.1:" + std::to_string(port), "has gone"},
                             [&] { client->set("key", ""); });
    });
    ender.join();
}

}  // namespace
}  // namespace trireme::test
