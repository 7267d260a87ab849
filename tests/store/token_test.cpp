// Who may use a TCP store: processes that know its token, of which no byte is sent.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <mutex>
#include <optional>

#include "core/unique_fd.h"
#include "store/endpoint.h"
#include "store/listener.h"
#include "store/proof.h"
#include "store/protocol.h"
#include "store/rendezvous.h"
#include "store/support.h"

namespace trireme::test {
namespace {

constexpr const char* secret = "a-token-that-nobody-may-see";

UniqueFd connect_plainly(std::uint16_t port) {
    const store::Address address = store::resolve({"127.0.0.1", port}).addresses.at(0);
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), address.get(), address.size), 0);
    return fd;
}

std::string receive_some(const UniqueFd& fd) {
    char bytes[4096];
    const ssize_t got = ::recv(fd.get(), bytes, sizeof bytes, 0);
    return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : std::string();
}

void send_all(const UniqueFd& fd, std::string_view bytes) {
    static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// Stands between a client and a server, and keeps what passes.
class Relay {
public:
    explicit Relay(std::uint16_t server)
        : listeners_(store::listen_on({"127.0.0.1", 0})),
          thread_([this, server] { run(server); }) {}
    ~Relay() {
        stop_ = true;
        thread_.join();
    }

    [[nodiscard]] std::uint16_t port() const { return listeners_.endpoint.port; }
    [[nodiscard]] std::string from_client() const { return copy(from_client_); }
    [[nodiscard]] std::string from_server() const { return copy(from_server_); }

private:
    [[nodiscard]] std::string copy(const std::string& text) const {
        const std::lock_guard lock(mutex_);
        return text;
    }

    bool pass(const UniqueFd& from, const UniqueFd& to, std::string& kept) {
        const std::string bytes = receive_some(from);
        {
            const std::lock_guard lock(mutex_);
            kept += bytes;
        }
        send_all(to, bytes);
        return !bytes.empty();
    }

    void run(std::uint16_t server) {
        while (!stop_) {
            const UniqueFd client(::accept(listeners_.sockets[0].get(), nullptr, nullptr));
            if (!client) {
                std::this_thread::sleep_for(1ms);
                continue;
            }
            const UniqueFd target = connect_plainly(server);
            for (bool open = true; open && !stop_;) {
                pollfd ends[] = {{client.get(), POLLIN, 0}, {target.get(), POLLIN, 0}};
                ::poll(ends, 2, 10);
                if (ends[0].revents != 0) open = pass(client, target, from_client_);
                if (ends[1].revents != 0) open = pass(target, client, from_server_) && open;
            }
        }
    }

    store::Listeners listeners_;
    mutable std::mutex mutex_;
    std::string from_client_, from_server_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

TEST(Proof, IsAnHmacOverItsParts) {
    // By Python's hmac, over "5:first0:4:last".
    EXPECT_EQ(store::in_hex(store::prove("key", {"first", "", "last"})),
              "d8a10053b181e39abb77f411a6d48fe27c5482c53746888dbc017836902a7c4a");
    EXPECT_EQ(store::in_hex(store::prove("", {"first", "", "last"})),
              "838b23a5c2039efcb53dd02078980a02238eac96d0326bce14b6ffa3d3211e58");
    EXPECT_TRUE(store::same_proof("ab", "ab"));
    EXPECT_FALSE(store::same_proof("ab", "ac"));
    EXPECT_FALSE(store::same_proof("ab", "abc"));
    EXPECT_NE(store::random_bytes(16), store::random_bytes(16));
}

TEST(Token, DifferentOnesAreAnErrorAtOnceAndDisturbNobody) {
    const TcpStoreServer server("127.0.0.1", 0, secret);
    const TcpStoreServer open("127.0.0.1", 0, "");
    const std::string where = "127.0.0.1:" + std::to_string(server.port());
    const auto client = tcp_store("127.0.0.1", server.port(), plenty, secret);
    client->set("key", "value");
    for (const char* const wrong : {"", "x", "a-token-that-nobody-may-sef"}) {
        expect_error_at_once(ErrorCode::store, {where, "tokens differ", "TRIREME_TOKEN"},
                             [&] { (void)tcp_store("127.0.0.1", server.port(), plenty, wrong); });
    }
    // A name with several addresses does not make it slower.
    expect_error_at_once(ErrorCode::store, {"tokens differ"},
                         [&] { (void)tcp_store("localhost", server.port(), plenty, "x"); });
    expect_error_at_once(ErrorCode::store, {"tokens differ"},
                         [&] { (void)tcp_store("127.0.0.1", open.port(), plenty, secret); });
    EXPECT_EQ(client->get("key", plenty), "value");
    EXPECT_EQ(client->num_keys(), 1);
}

TEST(Token, IsTheEnvironmentsWhereNoneIsGiven) {
    const Environment set(Environment::Variables{{"TRIREME_TOKEN", secret}});
    const TcpStoreServer server;
    EXPECT_NO_THROW((void)tcp_store("127.0.0.1", server.port(), plenty));
    const std::string url = "tcp://127.0.0.1:" + std::to_string(server.port());
    const Environment other(Environment::Variables{{"TRIREME_TOKEN", "another"}});
    expect_error_at_once(ErrorCode::rendezvous,
                         {"rank 1 of 2 at 127.0.0.1:" + std::to_string(server.port()),
                          "tokens differ", "TRIREME_TOKEN"},
                         [&] { (void)rendezvous(url, 1, 2, plenty); });
}

TEST(Token, IsNeverSentAndCannotBeReplayed) {
    const TcpStoreServer server("127.0.0.1", 0, secret);
    std::string heard;
    {
        const Relay relay(server.port());
        const auto client = tcp_store("127.0.0.1", relay.port(), plenty, secret);
        client->set("key", "value");
        heard = relay.from_client();
        EXPECT_EQ(heard.find(secret), std::string::npos);
        EXPECT_EQ(relay.from_server().find(secret), std::string::npos);
        EXPECT_NE(heard.find("value"), std::string::npos);  // it does hear
    }
    const UniqueFd fd = connect_plainly(server.port());
    send_all(fd, heard);
    std::string answer;
    for (std::string more = receive_some(fd); !more.empty(); more = receive_some(fd)) {
        answer += more;
    }
    const std::size_t greeting = store::hello_size + store::server_id_size + store::nonce_size;
    ASSERT_EQ(answer.size(), greeting + 1);
    EXPECT_EQ(static_cast<store::Verdict>(answer.back()), store::Verdict::tokens_differ);
}

TEST(Token, AServerMustKnowItToo) {
    const store::Listeners listeners = store::listen_on({"127.0.0.1", 0});
    std::atomic<bool> stop = false;
    std::thread impostor([&] {
        while (!stop) {
            const UniqueFd fd(::accept(listeners.sockets[0].get(), nullptr, nullptr));
            if (!fd) {
                std::this_thread::sleep_for(1ms);
                continue;
            }
            (void)receive_some(fd);
            send_all(fd, store::server_hello() + std::string(8, 'i') + std::string(32, 'n'));
            const std::string proof = receive_some(fd);
            send_all(fd, std::string(1, '\0') + proof);  // sent back where it came from
        }
    });
    expect_error_at_once(ErrorCode::store, {"tokens differ"}, [&] {
        (void)tcp_store("127.0.0.1", listeners.endpoint.port, plenty, secret);
    });
    stop = true;
    impostor.join();
}

TEST(Token, ProcessesOfThisHostNeedNone) {
    const TcpStoreServer server("", 0, "");
    std::vector<std::string> hosts = {"127.0.0.1", "127.0.0.2"};
    // Whichever of its addresses they use.
    if (const std::string own =
            [] {
                char name[256] = "";
                ::gethostname(name, sizeof name - 1);
                return std::string(name);
            }();
        !store::resolve({own, 1}).addresses.empty() &&
        store::is_local(store::resolve({own, 1}).addresses.front())) {
        hosts.push_back(own);
    }
    for (const std::string& host : hosts) {
        EXPECT_NO_THROW((void)tcp_store(host, server.port(), plenty, "")) << host;
    }
    EXPECT_TRUE(store::resolve({"::ffff:127.0.0.1", 1}).addresses.at(0).is_loopback());
    EXPECT_FALSE(store::resolve({"::ffff:10.0.0.1", 1}).addresses.at(0).is_loopback());
}

TEST(Token, InsecureIsSpeltStrictly) {
    const Environment set(Environment::Variables{{"TRIREME_INSECURE", "yes"}});
    expect_invalid([] { const TcpStoreServer server; }, {"TRIREME_INSECURE=\"yes\""});
}

}  // namespace
}  // namespace trireme::test
