// How the ranks of a world connect: see group/bootstrap.h.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "connected_ranks.h"
#include "store/proof.h"

namespace trireme::test {
namespace {

using testing::HasSubstr;

std::size_t open_descriptors() {
    DIR* folder = ::opendir("/proc/self/fd");
    std::size_t count = 0;
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
}

// Every rank sends every other its number and the receiver's, and gets the right ones.
void expect_connected(std::vector<std::unique_ptr<ConnectedRank>>& ranks) {
    const int size = static_cast<int>(ranks.size());
    for (const auto& rank : ranks) ASSERT_EQ(rank->error_text(), "");
    for (int from = 0; from < size; ++from) {
        for (int to = 0; to < size; ++to) {
            const int numbers[] = {from, to};
            ASSERT_EQ(ranks[static_cast<std::size_t>(from)]->wire(to).write(
                          std::as_bytes(std::span(numbers)), {}),
                      sizeof(numbers));
        }
    }
    for (int to = 0; to < size; ++to) {
        for (int from = 0; from < size; ++from) {
            Wire& wire = ranks[static_cast<std::size_t>(to)]->wire(from);
            int numbers[2] = {};
            ASSERT_TRUE(eventually([&] { return wire.peek(sizeof(numbers)).size() >= 8; }));
            ASSERT_EQ(wire.read(std::as_writable_bytes(std::span(numbers))), sizeof(numbers));
            EXPECT_EQ(numbers[0], from);
            EXPECT_EQ(numbers[1], to);
        }
    }
}

void expect_transports(std::vector<std::unique_ptr<ConnectedRank>>& ranks,
                       const std::function<std::string(int, int)>& expected) {
    for (int a = 0; a < static_cast<int>(ranks.size()); ++a) {
        for (int b = 0; b < static_cast<int>(ranks.size()); ++b) {
            ConnectedRank& rank = *ranks[static_cast<std::size_t>(a)];
            EXPECT_EQ(rank.wire(b).transport(), a == b ? "self" : expected(a, b)) << a << " " << b;
            EXPECT_EQ(rank.memory(b) != nullptr, a != b && expected(a, b) == "shm");
        }
    }
}

class WireBootstrap : public testing::TestWithParam<int> {};

TEST_P(WireBootstrap, OnOneHostByItself) {
    const std::size_t before = open_descriptors();
    {
        auto ranks = connect_threads(
            std::vector<Transport>(static_cast<std::size_t>(GetParam()), Transport::automatic));
        expect_connected(ranks);
        expect_transports(ranks, [](int, int) { return "shm"; });
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST_P(WireBootstrap, OverTcpWhereAsked) {
    const std::size_t before = open_descriptors();
    {
        auto ranks = connect_threads(
            std::vector<Transport>(static_cast<std::size_t>(GetParam()), Transport::tcp));
        expect_connected(ranks);
        expect_transports(ranks, [](int, int) { return "tcp"; });
        for (const auto& rank : ranks) EXPECT_EQ(rank->connections.inbox, nullptr);
    }
    EXPECT_EQ(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WireBootstrap, testing::Values(1, 2, 5, 8));

TEST(WireBootstrapMixed, EachPairUsesWhatBothAllow) {
    using enum Transport;
    const std::vector<Transport> chosen{tcp, automatic, automatic, tcp, automatic};
    auto ranks = connect_threads(chosen);
    expect_connected(ranks);
    expect_transports(ranks, [&](int a, int b) {
        const bool any = chosen[static_cast<std::size_t>(a)] == tcp ||
                         chosen[static_cast<std::size_t>(b)] == tcp;
        return any ? "tcp" : "shm";
    });
}

TEST(WireBootstrapMixed, NothingInCommonIsAnErrorOnBothSides) {
    for (const auto& chosen : {std::vector{Transport::shm, Transport::tcp},
                               std::vector{Transport::tcp, Transport::shm}}) {
        const auto start = Clock::now();
        const auto ranks = connect_threads(chosen, 60s);
        EXPECT_LT(Clock::now() - start, 30s);  // not at the deadline
        for (const auto& rank : ranks) {
            EXPECT_THAT(rank->error_text(), HasSubstr("TRIREME_TRANSPORT"));
            EXPECT_THAT(rank->error_text(), HasSubstr("rank"));
        }
    }
}

/// A store in which rank 0's Unix socket has a name that nobody listens on, as it looks from
/// another network namespace.
class OtherNamespace final : public Store {
public:
    void set(std::string_view key, std::string_view value) override {
        const std::string text(value);
        store_->set(key, key == "rank/0" ? "nowhere" + text.substr(text.find(' ')) : text);
    }
    std::string get(std::string_view key, Timeout timeout) override {
        return store_->get(key, timeout);
    }
    void wait(std::span<const std::string> keys, Timeout timeout) override {
        store_->wait(keys, timeout);
    }
    std::int64_t add(std::string_view key, std::int64_t amount) override {
        return store_->add(key, amount);
    }
    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        return store_->compare_set(key, expected, desired);
    }
    bool delete_key(std::string_view key) override { return store_->delete_key(key); }
    bool check(std::span<const std::string> keys) override { return store_->check(keys); }
    std::int64_t num_keys() override { return store_->num_keys(); }
    std::string describe() const override { return store_->describe(); }

private:
    std::shared_ptr<Store> store_ = memory_store();
};

TEST(WireBootstrapMixed, AnotherNetworkNamespaceIsReachedOverTcp) {
    auto ranks = connect_threads(std::vector<Transport>(3, Transport::automatic), 20s,
                                 std::make_shared<OtherNamespace>());
    expect_connected(ranks);
    expect_transports(ranks, [](int a, int b) { return a == 0 || b == 0 ? "tcp" : "shm"; });
}

TEST(WireBootstrapMixed, MemoryThatCannotBeSharedIsAnErrorThatNamesThePair) {
    const auto ranks = connect_threads(std::vector<Transport>(2, Transport::shm), 20s,
                                       std::make_shared<OtherNamespace>());
    EXPECT_THAT(ranks[1]->error_text(),
                HasSubstr("rank 1 cannot share memory with rank 0, which the transport shm"));
    EXPECT_THAT(ranks[1]->error_text(), HasSubstr("another network namespace"));
    EXPECT_THAT(ranks[0]->error_text(), HasSubstr("rank 1 could not join: rank 1 cannot share"));
}

TEST(WireBootstrapFailure, NamesTheMissingRanks) {
    auto store = memory_store();
    std::vector<std::unique_ptr<ConnectedRank>> ranks;
    std::vector<std::thread> threads;
    for (int rank : {0, 1, 3}) {
        ranks.push_back(std::make_unique<ConnectedRank>());
        threads.emplace_back([&, rank, one = ranks.back().get()] {
            one->connect(*store, rank, 4, WorldOptions{}, 1500ms);
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& rank : ranks) {
        EXPECT_EQ(rank->error_text(), "rendezvous: 3 of 4 ranks joined within 1.5 s; missing: 2");
        try {
            std::rethrow_exception(rank->error);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::rendezvous);
            EXPECT_EQ(error.ranks(), std::vector<int>{2});
        }
    }
}

// A rank's entry, as `Entry::text` writes it, where nobody listens.
constexpr const char* nobody_there =
    "- 127.0.0.1 1 0:-1 -1 TRIREME_ALGORITHM=\"\" TRIREME_REPRODUCIBLE=0 TRIREME_TRACE not set";

TEST(WireBootstrapFailure, NamesTheRankThatFallsSilent) {
    // Rank 1 has an entry, but nobody listens there.
    auto store = memory_store();
    store->set("rank/1", nobody_there);
    ConnectedRank zero;
    zero.connect(*store, 0, 2, WorldOptions{}, 700ms);
    EXPECT_EQ(zero.error_text(), "ranks did not connect to rank 0 within 700 ms: 1");

    store = memory_store();
    store->set("id", "0011 " + store::in_hex(store::prove("", {"trireme check", "0011"})));
    store->set("rank/0", nobody_there);
    ConnectedRank one;
    one.connect(*store, 1, 2, WorldOptions{}, 700ms);
    EXPECT_EQ(one.error_text(),
              "rank 1 cannot reach rank 0 at 127.0.0.1:1 within 700 ms: Connection refused");
}

TEST(WireBootstrapFailure, AnotherTokenIsNamedAtOnce) {
    auto store = memory_store();
    store->set("id", "0011 " + store::in_hex(store::prove("another", {"trireme check", "0011"})));
    store->set("rank/0", nobody_there);
    ConnectedRank one;
    one.connect(*store, 1, 2, WorldOptions{}, 60s);
    EXPECT_THAT(one.error_text(), HasSubstr("rank 1 has another token than rank 0"));
    EXPECT_THAT(one.error_text(), HasSubstr("TRIREME_TOKEN"));
    EXPECT_THAT(store->get("failure", 1s), HasSubstr("1 rank 1 has another token"));
}

TEST(WireBootstrapFailure, OneRanksFailureReachesTheOthers) {
    auto store = memory_store();
    store->set("rank/1", nobody_there);
    store->set("failure", "1 it rains");
    ConnectedRank zero;
    zero.connect(*store, 0, 2, WorldOptions{}, 60s);
    EXPECT_EQ(zero.error_text(), "rank 1 could not join: it rains");
}

TEST(WireBootstrapFailure, ABadAddressIsNamed) {
    auto store = memory_store();
    WorldOptions options;
    options.address = "no.such.host.invalid";
    ConnectedRank zero;
    zero.connect(*store, 0, 2, options, 60s);
    EXPECT_THAT(zero.error_text(), HasSubstr("no.such.host.invalid"));
}

TEST(WireBootstrapAddress, IsTheOneTowardsTheHost) {
    EXPECT_EQ(local_address_towards("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(local_address_towards("no.such.host.invalid"), "127.0.0.1");
}

int connect_tcp(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

int connect_unix(const std::string& name) {
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

// Silent, chatty and half-finished strangers at both listeners, more than a rank puts up with.
TEST(WireBootstrapStrangers, DisturbNobody) {
    auto store = memory_store();
    const std::size_t before = open_descriptors();
    {
        ConnectedRank zero;
        ConnectedRank one;
        std::thread zeroth([&] { zero.connect(*store, 0, 2, WorldOptions{}, 60s); });
        std::string unix_name;
        std::string host;
        int port = 0;
        std::istringstream(store->get("rank/0", 20s)) >> unix_name >> host >> port;
        ASSERT_EQ(host, "127.0.0.1");
        // Rank 0 only listens to anybody once all have an entry: its own is not looked at by rank
        // 1 before it has one, too.
        std::vector<int> strangers;
        const std::string noise = "GET / HTTP/1.1\r\n\r\n" + std::string(100, 'x');
        for (int i = 0; i < 400; ++i) {
            const int fd = i % 2 == 0 ? connect_tcp(port) : connect_unix(unix_name);
            if (fd < 0) continue;
            if (i % 3 == 0) ::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
            if (i % 3 == 1) ::send(fd, "Trireme1", i % 8, MSG_NOSIGNAL);
            if (i % 5 == 0) {
                ::close(fd);
            } else {
                strangers.push_back(fd);
            }
        }
        // Two that have the form, but neither token nor key.
        struct {
            char magic[8] = {'T', 'r', 'i', 'r', 'e', 'm', 'e', '1'};
            char token[16] = {};
            std::int32_t rank = 1;
            std::int32_t size = 2;
            char rest[16] = {};
        } forged;
        strangers.push_back(connect_unix(unix_name));
        ::send(strangers.back(), &forged, sizeof(forged), MSG_NOSIGNAL);
        struct {
            char magic[8] = {'T', 'r', 'i', 'r', 'e', 'm', 'e', '2'};
            std::int32_t rank = 1;
            std::int32_t size = 2;
            char nonce[32] = {};
            char proof[32] = {};
        } keyless;
        strangers.push_back(connect_tcp(port));
        ::send(strangers.back(), &keyless, sizeof(keyless), MSG_NOSIGNAL);
        one.connect(*store, 1, 2, WorldOptions{}, 60s);
        zeroth.join();
        EXPECT_EQ(zero.error_text(), "");
        EXPECT_EQ(one.error_text(), "");
        EXPECT_EQ(zero.wire(1).transport(), "shm");
        const std::byte byte{7};
        EXPECT_EQ(one.wire(0).write({&byte, 1}, {}), 1U);
        EXPECT_EQ(zero.wire(1).peek(1).size(), 1U);
        for (const int fd : strangers) ::close(fd);
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(WireBootstrapAgain, ManyWorldsLeaveNothingBehind) {
    const std::size_t before = open_descriptors();
    for (int round = 0; round < 20; ++round) {
        auto ranks = connect_threads({Transport::automatic, Transport::automatic, Transport::tcp});
        expect_connected(ranks);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace trireme::test
