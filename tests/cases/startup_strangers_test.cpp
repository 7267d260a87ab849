// Bytes of strangers at the ports of a job that starts and runs.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "core/unique_fd.h"
#include "store/endpoint.h"
#include "store/protocol.h"
#include "store/support.h"
#include "support/ranks.h"
#include "support/stranger.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

void say(const UniqueFd& fd, const std::string& bytes) {
    static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

std::vector<std::string> attacks() {
    std::string noise(std::size_t{64} << 10, '\0');
    std::mt19937 random(7);
    for (char& byte : noise) {
        byte = static_cast<char>(random());
    }
    const std::string length = std::string(7, '\0') + '\x80';  // 2^63
    return {
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        noise,
        length,
        store::client_hello() + length + noise,
        "Trireme2" + length + noise,
    };
}

TEST(C31, StrangersAtBothPortsDisturbNobody) {
    const std::uint16_t port = TcpStoreServer().port();
    const std::string url = "tcp://127.0.0.1:" + std::to_string(port);
    std::atomic<bool> attacked = false;
    const auto run = [&](int rank) {
        World world = World::connect(url, rank, 2, test_options(Transport::tcp));
        for (int round = 0;; ++round) {
            std::vector<int> numbers(1000, rank + round);
            world.group().all_reduce(numbers);
            ASSERT_EQ(numbers, std::vector<int>(1000, 2 * round + 1));
            // Both leave after the same round, which they agree on.
            int last = attacked && round >= 100 ? 1 : 0;
            world.group().all_reduce(last, min);
            if (last == 1) break;
        }
    };
    std::thread zero([&] { run(0); });
    const auto client = tcp_store("127.0.0.1", port, plenty);
    std::string unix_name;
    std::string host;
    int link_port = 0;
    std::istringstream(client->get("world/rank/0", plenty)) >> unix_name >> host >> link_port;
    const auto link = static_cast<std::uint16_t>(link_port);
    ASSERT_NE(link, 0);

    const std::size_t before = resident_bytes();
    std::vector<UniqueFd> at_store;
    std::vector<UniqueFd> at_link;
    const auto attack = [&](std::uint16_t target, std::vector<UniqueFd>& list) {
        for (int i = 0; i < 100; ++i) {  // half open
            list.push_back(stranger(target));
            ASSERT_TRUE(list.back());
        }
        for (const std::string& bytes : attacks()) {
            list.push_back(stranger(target));
            ASSERT_TRUE(list.back());
            say(list.back(), bytes);
        }
    };
    // While rank 0 waits for rank 1.
    attack(port, at_store);
    attack(link, at_link);
    std::thread one([&] { run(1); });
    // While the job runs. The port between the ranks closes when all are connected.
    for (const UniqueFd& fd : at_link) {
        EXPECT_TRUE(is_dropped(fd));
    }
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(40);
    while (stranger(link) && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    EXPECT_FALSE(stranger(link));
    attack(port, at_store);
    client->set("still", "served");
    EXPECT_EQ(client->get("still", plenty), "served");
    const std::size_t after = resident_bytes();
    attacked = true;
    zero.join();
    one.join();
    for (const UniqueFd& fd : at_store) {
        EXPECT_TRUE(is_dropped(fd));
    }
    if (!is_sanitized) {
        EXPECT_LT(after, before + (std::size_t{10} << 20));
    }
}

}  // namespace
}  // namespace trireme::test
