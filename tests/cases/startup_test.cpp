// Jobs that cannot start: what each rank hears. Of the network: startup_network_test.cpp; of
// strangers: startup_strangers_test.cpp; of limits: startup_limits_test.cpp.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <barrier>
#include <memory>

#include "core/unique_fd.h"
#include "store/listener.h"
#include "store/support.h"
#include "support/ranks.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

std::uint16_t free_port() { return TcpStoreServer().port(); }

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

WorldOptions within(Timeout timeout) {
    WorldOptions options;
    options.timeout = timeout;
    return options;
}

void expect_sum(World& world) {
    int number = world.rank() + 1;
    world.group().all_reduce(number);
    EXPECT_EQ(number, world.size() * (world.size() + 1) / 2);
}

/// Answers everybody with the same words.
class ForeignListener {
public:
    ForeignListener() : thread_([this] { run(); }) {}
    ~ForeignListener() {
        stop_ = true;
        thread_.join();
    }
    [[nodiscard]] std::uint16_t port() const { return listeners_.endpoint.port; }

private:
    void run() {
        const std::string words = "220 mail.example.org ESMTP\r\n";
        while (!stop_) {
            const UniqueFd fd(::accept(listeners_.sockets[0].get(), nullptr, nullptr));
            if (fd) {
                static_cast<void>(::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL));
            }
            std::this_thread::sleep_for(1ms);
        }
    }

    store::Listeners listeners_ = store::listen_on({"127.0.0.1", 0});
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

TEST(C26, AForeignListenerOnThePortIsNamed) {
    const ForeignListener other;
    const std::string url = "tcp://" + at(other.port());
    expect_error_at_once(ErrorCode::rendezvous, {"rank 0 of 2", at(other.port()), "in use"},
                         [&] { (void)World::connect(url, 0, 2, within(plenty)); });
    expect_error_at_once(ErrorCode::rendezvous, {"rank 1 of 2", at(other.port()), "220 mail.exa"},
                         [&] { (void)World::connect(url, 1, 2, within(plenty)); });
}

TEST(C26, ASecondJobOnThePortIsRefusedAndTheFirstUnharmed) {
    const std::string url = "tcp://" + at(free_port());
    std::barrier running(3);
    std::barrier refused(3);
    std::thread job([&] {
        run_threads(2, [&](int rank) {
            World world = World::connect(url, rank, 2, within(plenty));
            expect_sum(world);
            running.arrive_and_wait();
            refused.arrive_and_wait();
            expect_sum(world);
        });
    });
    running.arrive_and_wait();
    expect_error_at_once(ErrorCode::rendezvous, {"rank 0 of 2", "in use"},
                         [&] { (void)World::connect(url, 0, 2, within(plenty)); });
    // Here of the same process, which may come back to the port for its next world, and waits.
    expect_error(ErrorCode::rendezvous, {"rank 1 of 2"},
                 [&] { (void)World::connect(url, 1, 2, within(300ms)); });
    refused.arrive_and_wait();
    job.join();
}

TEST(C28, ABadEnvironmentIsNamedAtOnce) {
    const Environment good({{"RANK", "0"},
                            {"WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "29500"},
                            {"TRIREME_STORE", nullptr}});
    const struct {
        const char* name;
        const char* value;
        const char* said;
    } bad[] = {
        {"WORLD_SIZE", "0", "WORLD_SIZE=0"},
        {"WORLD_SIZE", "-1", "WORLD_SIZE=-1"},
        {"RANK", "4", "RANK=4"},
        {"RANK", "a", "RANK='a'"},
        {"MASTER_ADDR", nullptr, "MASTER_ADDR is not set"},
        {"MASTER_PORT", "70000", "MASTER_PORT='70000'"},
        {"TRIREME_TIMEOUT", "soon", "TRIREME_TIMEOUT=\"soon\""},
        {"TRIREME_TRANSPORT", "udp", "TRIREME_TRANSPORT=\"udp\""},
    };
    for (const auto& one : bad) {
        const Environment changed(Environment::Variables{{one.name, one.value}});
        expect_error_at_once(ErrorCode::invalid_argument, {one.said},
                             [] { (void)World::from_env(); });
    }
}

TEST(C28, ADifferentPortPerRankNamesTheAddressThatWasTried) {
    const std::uint16_t ports[] = {free_port(), free_port()};
    ASSERT_NE(ports[0], ports[1]);
    run_threads(2, [&](int rank) {
        const std::string url = "tcp://" + at(ports[rank]);
        const auto start = [&] { (void)World::connect(url, rank, 2, within(500ms)); };
        rank == 0 ? expect_error(ErrorCode::rendezvous, {"1 of 2 ranks", "missing: 1"}, start)
                  : expect_error(ErrorCode::rendezvous, {at(ports[1]), "refused", "500 ms"}, start);
    });
}

TEST(C29, AnUnusablePathIsNamedAtOnce) {
    const TempDir dir;
    const auto start = [](const std::string& path) {
        (void)World::connect("file://" + path, 0, 2, within(plenty));
    };
    expect_error_at_once(ErrorCode::store, {dir / "missing/store", "errno 2"},
                         [&] { start(dir / "missing/store"); });
    // Root may write wherever permissions are in the way, but not here.
    expect_error_at_once(ErrorCode::store, {"/proc/sys/store", "errno"},
                         [&] { start("/proc/sys/store"); });
    if (::geteuid() != 0) {
        std::filesystem::create_directory(dir / "closed");
        std::filesystem::permissions(dir / "closed", std::filesystem::perms::owner_read |
                                                         std::filesystem::perms::owner_exec);
        expect_error_at_once(ErrorCode::store, {dir / "closed/store", "errno 13"},
                             [&] { start(dir / "closed/store"); });
    }
}

TEST(C29, AFileThatIsDeletedMeanwhileIsNamedAtOnce) {
    const TempDir dir;
    const std::string path = dir / "store";
    // While a rank waits for the other one.
    std::thread deleter([&] {
        while (!std::filesystem::exists(path)) {
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(100ms);
        std::filesystem::remove(path);
    });
    expect_error_at_once(ErrorCode::store, {path, "deleted", "errno 2"},
                         [&] { (void)World::connect("file://" + path, 0, 2, within(plenty)); });
    deleter.join();
    // In a job that runs: what needs no store goes on, what does says why not.
    std::barrier step(2);
    const std::string other = dir / "other";
    run_threads(2, [&](int rank) {
        World world = World::connect("file://" + other, rank, 2, within(plenty));
        step.arrive_and_wait();
        if (rank == 0) {
            std::filesystem::remove(other);
        }
        step.arrive_and_wait();
        expect_sum(world);
        expect_error_at_once(ErrorCode::store, {other, "errno 2"},
                             [&] { (void)world.group({rank}); });
        expect_sum(world);
        step.arrive_and_wait();
    });
}

TEST(C29, AStoreFileIsForItsOwnerOnly) {
    const TempDir dir;
    const auto store = file_store(dir / "store");
    store->set("key", "value");
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(dir / "store").permissions(),
              perms::owner_read | perms::owner_write);
}

TEST(C37, AWaitSeesKeysThatAreThereAlready) {
    const TcpStoreServer server;
    const auto waiter = tcp_store("127.0.0.1", server.port(), plenty);
    const auto setter = tcp_store("127.0.0.1", server.port(), plenty);
    setter->set("a", "1");
    std::thread later([&] {
        std::this_thread::sleep_for(50ms);
        setter->set("b", "2");
    });
    waiter->wait(std::vector<std::string>{"a", "b"}, plenty);
    EXPECT_EQ(waiter->get("b", 0ms), "2");
    later.join();
}

TEST(C37, AClientIsUsableAfterAWaitThatTimedOut) {
    const TcpStoreServer server;
    const auto client = tcp_store("127.0.0.1", server.port(), plenty);
    client->set("a", "1");
    for (int round = 0; round < 10; ++round) {
        expect_error(ErrorCode::timeout, {"'b', 'c'"},
                     [&] { client->wait(std::vector<std::string>{"a", "b", "c"}, 10ms); });
        EXPECT_EQ(client->get("a", plenty), "1");
    }
}

TEST(C37, AShortJoinNamesWhoIsMissing) {
    const std::string url = "tcp://" + at(free_port());
    expect_error(ErrorCode::rendezvous, {"1 of 2 ranks joined", "missing: 1"},
                 [&] { (void)World::connect(url, 0, 2, within(300ms)); });
}

}  // namespace
}  // namespace trireme::test
