// Jobs over several hosts, which are network namespaces here, and hosts with odd networks. The
// program is its own rank. Skipped where neither root nor a user namespace can make them.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "launcher/launcher.h"
#include "store/support.h"
#include "trireme/trireme.h"

namespace trireme::test {
namespace {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

int be_rank() {
    try {
        World world = World::from_env();
        // Before the last operation: rank 0, which holds the store, may leave after it.
        const std::string entry = world.store().get("rank/" + std::to_string(world.rank()), 10s);
        int number = world.rank() + 1;
        world.group().all_reduce(number);
        const std::string transport(world.transport(world.size() - 1 - world.rank()));
        std::printf("sum %d over %s as %s\n", number, transport.c_str(), entry.c_str());
        return 0;
    } catch (const std::exception& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}

// Waits for the others for as long as it can; says why it could not.
int be_waiter(bool sends) {
    const World world = World::from_env();
    world.group().barrier();
    std::printf("ready\n");
    std::fflush(stdout);
    std::vector<float> data(sends ? 1 << 20 : 1);
    try {
        if (world.rank() == 1) std::this_thread::sleep_for(60s);
        // Of so much a part is on its way; of the other nothing: it waits for what does not come.
        if (sends)
            world.group().send(data, Peer{1});
        else
            world.group().recv(data, Peer{1});
    } catch (const Error& error) {
        std::printf("%s: %s\n", name(error.code()), error.what());
    }
    return 0;
}

// A server, and very many clients at once, in a few processes.
int be_crowd(int clients) {
    const TcpStoreServer server;
    constexpr int processes = 8;
    std::vector<pid_t> children;
    for (int p = 0; p < processes; ++p) {
        children.push_back(::fork());
        if (children.back() != 0) continue;
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        run_threads(clients / processes, [&](int i) {
            const auto client = tcp_store("127.0.0.1", server.port(), 30s);
            client->set(std::to_string(p) + "/" + std::to_string(i), "");
            client->add("came", 1);
            // Nobody leaves before all have come.
            if (client->add("counted", 1) == clients) client->set("all", "");
            (void)client->get("all", 60s);
        });
        std::fflush(nullptr);
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    bool good = true;
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        good = good && status == 0;
    }
    const auto came = tcp_store("127.0.0.1", server.port(), 30s)->add("came", 0);
    std::printf("%d of %d came\n", static_cast<int>(came), clients);
    return good && came == clients ? 0 : 1;
}

class Hosts : public testing::Test {
protected:
    void SetUp() override {
        if (std::system((std::string(TRIREME_NETNS) + " up " + name_ + " 2 2>/dev/null").c_str())) {
            GTEST_SKIP() << "network namespaces cannot be made here: it takes root, or the right "
                            "to make user namespaces";
        }
        made_ = true;
    }
    ~Hosts() override {
        if (made_) (void)std::system((std::string(TRIREME_NETNS) + " down " + name_).c_str());
    }

    using Words = std::vector<std::string>;

    /// Starts a command on a host, where /etc/hosts has these lines.
    [[nodiscard]] std::unique_ptr<Launcher> start(int host, const std::string& hosts, Words command,
                                                  Words environment) {
        const std::string file = dir_ / ("hosts" + std::to_string(++started_));
        std::ofstream(file) << hosts;
        Words words{"exec", name_ + "-" + std::to_string(host), "--hosts", file};
        words.insert(words.end(), command.begin(), command.end());
        for (const char* name : {"TRIREME_STORE", "TRIREME_INTERFACE", "TRIREME_ADDRESS"}) {
            environment.insert(environment.begin(), name);
        }
        return std::make_unique<Launcher>(
            words, Launcher::Setup{.environment = environment, .program = TRIREME_NETNS});
    }
    [[nodiscard]] std::unique_ptr<Launcher> start_rank(int host, int rank, int size,
                                                       const std::string& hosts, Words more) {
        more.insert(more.begin(),
                    {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size),
                     "MASTER_PORT=29600", "TRIREME_TIMEOUT=30"});
        return start(host, hosts, {own_program(), "rank"}, more);
    }
    /// Runs a shell command on a host and waits.
    void shell(int host, const std::string& script) {
        EXPECT_EQ(start(host, localhost, {"sh", "-c", script}, {})->wait(), 0) << script;
    }

    /// Both ranks on one host, over TCP.
    void expect_pair(int host, const std::string& master, const std::string& hosts) {
        const Words more{"MASTER_ADDR=" + master, "TRIREME_TRANSPORT=tcp"};
        const auto zero = start_rank(host, 0, 2, hosts, more);
        const auto one = start_rank(host, 1, 2, hosts, more);
        for (const auto& rank : {&zero, &one}) {
            EXPECT_EQ((*rank)->wait(), 0) << master << ": " << (*rank)->out();
            EXPECT_EQ(count((*rank)->out(), "sum 3 over tcp"), 1U) << (*rank)->out();
        }
    }

    static constexpr const char* localhost = "127.0.0.1 localhost\n::1 localhost\n";

private:
    const std::string name_ = "tt" + std::to_string(::getpid());
    const TempDir dir_;
    bool made_ = false;
    int started_ = 0;
};

using C34 = Hosts;
using C35 = Hosts;
using C32 = Hosts;
using Heartbeat = Hosts;

// The other host vanishes without a word, while this one waits, and while it sends.
TEST_F(Heartbeat, FindsAHostThatIsLost) {
    for (const char* how : {"receives", "sends"}) {
        Words more{"RANK=0",
                   "WORLD_SIZE=2",
                   "MASTER_PORT=29600",
                   "TRIREME_TIMEOUT=40",
                   "TRIREME_HEARTBEAT=3",
                   "MASTER_ADDR=10.99.0.1",
                   "TRIREME_TOKEN=of-this-test"};
        const auto zero = start(0, localhost, {own_program(), how}, more);
        more.front() = "RANK=1";
        const auto one = start(1, localhost, {own_program(), how}, more);
        ASSERT_TRUE(zero->prints("ready", 1)) << zero->out();
        ASSERT_TRUE(one->prints("ready", 1)) << one->out();
        shell(1, "ip link set eth0 down");
        EXPECT_EQ(zero->wait(), 0);
        EXPECT_EQ(count(zero->out(), "peer_lost: "), 1U) << zero->out();
        EXPECT_EQ(count(zero->out(), "rank 1 is "), 1U) << zero->out();
        one->signal(SIGKILL);
        shell(1, "ip link set eth0 up");
    }
}

TEST_F(C34, AHostWithoutIpv6) {
    shell(0, "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6");
    expect_pair(0, "127.0.0.1", localhost);
    expect_pair(0, "localhost", localhost);  // of which ::1 cannot be had
    expect_pair(0, "10.99.0.1", localhost);
}

TEST_F(C34, AHostWithoutIpv4) {
    shell(0, "ip address flush dev eth0 scope global; ip address del 127.0.0.1/8 dev lo");
    expect_pair(0, "::1", localhost);
    expect_pair(0, "[::1]", localhost);
    expect_pair(0, "localhost", localhost);
}

TEST_F(C34, AHostWithBoth) {
    for (const char* master : {"localhost", "127.0.0.1", "::1", "fd99::1", "10.99.0.1"}) {
        expect_pair(0, master, localhost);
    }
}

TEST_F(C34, TheErrorListsTheAddressesThatWereTried) {
    const auto one = start_rank(0, 1, 2, localhost, {"MASTER_ADDR=localhost", "TRIREME_TIMEOUT=1"});
    EXPECT_EQ(one->wait(), 1);
    for (const char* part : {"127.0.0.1:29600 (", "[::1]:29600 (", "refused"}) {
        EXPECT_GE(count(one->out(), part), 1U) << one->out();
    }
}

TEST_F(C34, HostsThatKnowEachOtherByIpv6Only) {
    const Words more{"MASTER_ADDR=fd99::1", "TRIREME_TOKEN=of-this-test"};
    const auto zero = start_rank(0, 0, 2, localhost, more);
    const auto one = start_rank(1, 1, 2, localhost, more);
    EXPECT_EQ(zero->wait(), 0) << zero->out();
    EXPECT_EQ(one->wait(), 0) << one->out();
    EXPECT_EQ(count(one->out(), "sum 3 over tcp"), 1U) << one->out();
    EXPECT_EQ(count(one->out(), " fd99::2 "), 1U) << one->out();
}

TEST_F(C35, AHostWhoseOwnNameMeansLoopback) {
    const std::string own = "127.0.0.1 localhost\n127.0.1.1 node0\n";
    const std::string other = "127.0.0.1 localhost\n10.99.0.1 node0\n127.0.1.1 node1\n";
    const Words more{"MASTER_ADDR=node0", "TRIREME_TOKEN=of-this-test"};
    // Two ranks on each host, so that there are pairs of both kinds.
    std::vector<std::unique_ptr<Launcher>> ranks;
    for (int rank = 0; rank < 4; ++rank) {
        ranks.push_back(start_rank(rank / 2, rank, 4, rank < 2 ? own : other, more));
    }
    for (const auto& rank : ranks) {
        EXPECT_EQ(rank->wait(), 0) << rank->out();
        EXPECT_EQ(count(rank->out(), "sum 10 over tcp"), 1U) << rank->out();
    }
    EXPECT_EQ(count(ranks[0]->out(), " node0 "), 1U) << ranks[0]->out();
    EXPECT_EQ(count(ranks[2]->out(), " 10.99.0.2 "), 1U) << ranks[2]->out();
}

TEST_F(C35, TheInterfaceThatIsNamed) {
    const Words base{"MASTER_ADDR=10.99.0.1", "TRIREME_TOKEN=of-this-test"};
    const auto with = [&](const char* more) {
        Words words = base;
        words.emplace_back(more);
        return words;
    };
    {
        const auto zero = start_rank(0, 0, 2, localhost, with("TRIREME_INTERFACE=eth0"));
        const auto one = start_rank(1, 1, 2, localhost, with("TRIREME_INTERFACE=eth0"));
        EXPECT_EQ(zero->wait(), 0) << zero->out();
        EXPECT_EQ(one->wait(), 0) << one->out();
        EXPECT_EQ(count(zero->out(), " 10.99.0.1 "), 1U) << zero->out();
        EXPECT_EQ(count(one->out(), " 10.99.0.2 "), 1U) << one->out();
    }
    const auto zero = start_rank(0, 0, 2, localhost, base);
    const auto one = start_rank(1, 1, 2, localhost, with("TRIREME_INTERFACE=eth9"));
    EXPECT_EQ(one->wait(), 1);
    EXPECT_EQ(zero->wait(), 1);
    for (const auto& rank : {&zero, &one}) {
        for (const char* part :
             {"TRIREME_INTERFACE=\"eth9\"", "eth0 (10.99.0.2 fd99::2)", "lo (127.0.0.1 ::1)"}) {
            EXPECT_EQ(count((*rank)->out(), part), 1U) << (*rank)->out();
        }
    }
}

TEST_F(C35, LoopbackStaysLoopback) {
    const auto zero = start_rank(0, 0, 2, localhost, {"MASTER_ADDR=127.0.0.1"});
    const auto outside =
        start_rank(1, 1, 2, localhost, {"MASTER_ADDR=10.99.0.1", "TRIREME_TIMEOUT=1"});
    EXPECT_EQ(outside->wait(), 1);
    EXPECT_EQ(count(outside->out(), "10.99.0.1:29600 (Connection refused"), 1U) << outside->out();
    const auto one = start_rank(0, 1, 2, localhost, {"MASTER_ADDR=127.0.0.1"});
    EXPECT_EQ(zero->wait(), 0) << zero->out();
    EXPECT_EQ(one->wait(), 0) << one->out();
}

TEST_F(C35, AnotherHostNeedsAToken) {
    const std::string master = "MASTER_ADDR=10.99.0.1";
    const auto zero = start_rank(0, 0, 2, localhost, {master});
    const auto outside = start_rank(1, 1, 2, localhost, {master});
    EXPECT_EQ(outside->wait(), 1);
    for (const char* part : {"10.99.0.1:29600", "processes of its own host only",
                             "set TRIREME_TOKEN to the same value on all ranks"}) {
        EXPECT_GE(count(outside->out(), part), 1U) << outside->out();
    }
    const auto one = start_rank(0, 1, 2, localhost, {master});  // by the host's own address
    EXPECT_EQ(zero->wait(), 0) << zero->out();
    EXPECT_EQ(one->wait(), 0) << one->out();

    const auto open = start_rank(0, 0, 2, localhost, {master, "TRIREME_INSECURE=1"});
    const auto guest = start_rank(1, 1, 2, localhost, {master});
    EXPECT_EQ(open->wait(), 0) << open->out();
    EXPECT_EQ(guest->wait(), 0) << guest->out();
}

TEST_F(C32, ThousandsOfClientsAtOnceWithAShortQueue) {
    if (std::getenv("TRIREME_TEST_LARGE") == nullptr) {
        GTEST_SKIP() << "4,000 clients: make test-large";
    }
    const auto crowd = start(
        0, localhost,
        {"sh", "-c", "echo 128 > /proc/sys/net/core/somaxconn; exec " + own_program() + " crowd"},
        {});
    EXPECT_EQ(crowd->wait(180s), 0);
    EXPECT_EQ(crowd->out(), "4000 of 4000 came\n") << crowd->err();
}

// Without the right, all again within namespaces of this program's own.
int enter_namespaces(int argc, char** argv) {
    ::setenv("TRIREME_TEST_ENTERED", "1", 1);
    const pid_t child = ::fork();
    if (child == 0) {
        std::vector<std::string> words{TRIREME_NETNS, "enter", own_program()};
        words.insert(words.end(), argv + 1, argv + argc);
        std::vector<char*> pointers;
        for (std::string& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        ::execv(pointers[0], pointers.data());
        ::_exit(77);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace trireme::test

int main(int argc, char** argv) {
    using namespace trireme::test;
    const std::string word = argc == 2 ? argv[1] : "";
    if (word == "rank") return be_rank();
    if (word == "receives" || word == "sends") return be_waiter(word == "sends");
    if (word == "crowd") return be_crowd(4000);
    testing::InitGoogleTest(&argc, argv);
    if (::geteuid() != 0 && std::getenv("TRIREME_TEST_ENTERED") == nullptr &&
        !testing::GTEST_FLAG(list_tests)) {
        constexpr int not_allowed = 77;
        if (const int code = enter_namespaces(argc, argv); code != not_allowed) return code;
    }
    return RUN_ALL_TESTS();
}
