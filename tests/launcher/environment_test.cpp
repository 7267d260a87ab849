// What a rank finds: its variables, the port, the store, its descriptors.
// The program is its own rank: with a word as its argument it does that and ends.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "launcher.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme::test {
namespace {

std::string self() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Binds MASTER_PORT as a server would and reports; as rank 0 of a PyTorch program does.
int listen_on_master_port(bool reuse) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    if (reuse) {
        ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(std::getenv("MASTER_PORT"))));
    const bool ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    ::listen(fd, 8) == 0;
    std::printf("%s\n", ok ? "listens" : std::strerror(errno));
    return 0;
}

int print_open_descriptors() {
    for (int fd = 3; fd < 1024; ++fd) {
        if (::fcntl(fd, F_GETFD) >= 0) {
            std::printf("open %d\n", fd);
        }
    }
    return 0;
}

int print_fate_of_rank_one() {
    if (std::string(std::getenv("RANK")) == "1") {
        ::raise(SIGKILL);
    }
    const std::string address = std::getenv("TRIREME_STORE");
    const std::size_t colon = address.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
    const auto store = tcp_store(address.substr(0, colon), port, 30s);
    std::printf("rank 1 %s\n", store->get("launcher/exit/1", 30s).c_str());
    return 0;
}

// The variables that each rank printed as NAME=value.
std::vector<std::map<std::string, std::string>> variables(const std::string& out, int ranks) {
    std::vector<std::map<std::string, std::string>> result(static_cast<std::size_t>(ranks));
    for (const std::string& line : lines_of(out)) {
        const std::size_t end = line.find("] ");
        const std::size_t equals = line.find('=');
        if (end != std::string::npos && equals != std::string::npos) {
            result.at(std::stoul(line.substr(1)))[line.substr(end + 2, equals - end - 2)] =
                line.substr(equals + 1);
        }
    }
    return result;
}

TEST(Environment, EachRankGetsItsVariables) {
    // As if under another launcher: what it set must not shine through.
    Launcher trireme({"run", "-n", "3", "env"},
                     {.environment = {"RANK=77", "WORLD_SIZE=99", "TORCHELASTIC_RUN_ID=none",
                                      "TORCHELASTIC_USE_AGENT_STORE=True", "TRIREME_TOKEN=another",
                                      "MINE=kept"}});
    ASSERT_EQ(trireme.wait(), 0);
    const auto ranks = variables(trireme.out(), 3);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        auto env = ranks[rank];
        const std::string number = std::to_string(rank);
        EXPECT_EQ(env["RANK"], number);
        EXPECT_EQ(env["LOCAL_RANK"], number);
        EXPECT_EQ(env["ROLE_RANK"], number);
        EXPECT_EQ(env["GROUP_RANK"], "0");
        EXPECT_EQ(env["WORLD_SIZE"], "3");
        EXPECT_EQ(env["LOCAL_WORLD_SIZE"], "3");
        EXPECT_EQ(env["MASTER_ADDR"], "127.0.0.1");
        EXPECT_GT(std::stoi(env["MASTER_PORT"]), 0);
        EXPECT_EQ(env["TORCHELASTIC_RUN_ID"], env["TRIREME_JOB"]);
        EXPECT_EQ(env["TORCHELASTIC_USE_AGENT_STORE"], "False");
        EXPECT_EQ(env["TRIREME_STORE"].rfind("127.0.0.1:", 0), 0U);
        EXPECT_EQ(env["MINE"], "kept");
        EXPECT_GE(std::stoi(env["OMP_NUM_THREADS"]), 1);
        EXPECT_EQ(env["TRIREME_TOKEN"].size(), 64U);
        for (const char* name : {"TRIREME_JOB", "TRIREME_STORE", "TRIREME_TOKEN", "MASTER_PORT"}) {
            EXPECT_FALSE(env[name].empty());
            EXPECT_EQ(env[name], ranks[0].at(name));
        }
    }
    EXPECT_EQ(count(trireme.out(), " RANK="), 3U) << "a variable appears twice";
}

TEST(Environment, ThreadsFollowTheCoresUnlessSet) {
    Launcher crowd(run_shell({"-n", "64"}, "echo $OMP_NUM_THREADS"));
    ASSERT_EQ(crowd.wait(), 0);
    EXPECT_GE(count(crowd.out(), "] 1\n"), std::thread::hardware_concurrency() < 64 ? 64U : 0U);
    Launcher set(run_shell({"-n", "2"}, "echo $OMP_NUM_THREADS"),
                 {.environment = {"OMP_NUM_THREADS=5"}});
    ASSERT_EQ(set.wait(), 0);
    EXPECT_EQ(count(set.out(), "] 5\n"), 2U);
}

TEST(Environment, AutoIsTheNumberOfUsableCores) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    int core = 0;
    while (!CPU_ISSET(core, &mask)) {
        ++core;
    }
    Launcher pinned({"-c", std::to_string(core), TRIREME_PROGRAM, "run", "-n", "auto", "printenv",
                     "WORLD_SIZE"},
                    {.environment = {}, .program = "taskset"});
    EXPECT_EQ(pinned.wait(), 0);
    EXPECT_EQ(pinned.out(), "[0] 1\n");
}

TEST(Environment, RankZeroCanListenOnTheMasterPort) {
    Launcher trireme({"run", "-n", "1", self(), "listen-reuse"});
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(trireme.out(), "[0] listens\n");
}

TEST(Environment, TheMasterPortIsKeptFromServersThatDoNotReuse) {
    Launcher trireme({"run", "-n", "1", self(), "listen"});
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(trireme.out(), "[0] Address already in use\n");
}

TEST(Environment, JobsAtOnceShareNothing) {
    constexpr int jobs = 6;
    std::vector<std::unique_ptr<Launcher>> launchers;
    for (int i = 0; i < jobs; ++i) {
        launchers.push_back(std::make_unique<Launcher>(
            run_shell({"-n", "2"}, "env; [ $RANK = 1 ] || exec " + self() + " listen-reuse")));
    }
    std::map<std::string, std::set<std::string>> values;
    for (const auto& launcher : launchers) {
        EXPECT_EQ(launcher->wait(), 0);
        EXPECT_EQ(count(launcher->out(), "listens"), 1U);
        for (const char* name : {"TRIREME_JOB", "TRIREME_STORE", "TRIREME_TOKEN", "MASTER_PORT"}) {
            values[name].insert(variables(launcher->out(), 2)[0][name]);
        }
    }
    for (const auto& [name, different] : values) {
        EXPECT_EQ(different.size(), std::size_t{jobs}) << name;
    }
}

TEST(Environment, MasterPortCanBeChosen) {
    Launcher trireme(run_shell({"-n", "2", "--master-port", "29511"}, "echo $MASTER_PORT"));
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(count(trireme.out(), "] 29511\n"), 2U);
}

TEST(Environment, NoDescriptorLeaksIntoRanks) {
    const std::string logs = testing::TempDir() + "trireme-leak-" + std::to_string(::getpid());
    Launcher trireme({"run", "-n", "4", "--log-dir", logs, self(), "descriptors"});
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(trireme.out(), "");
    std::filesystem::remove_all(logs);
}

std::string contents_of(pid_t pid, const char* file) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Environment, TheTokenIsOnNoCommandLineAndInNoOutput) {
    Launcher trireme(run_shell({"-n", "2"}, "echo $TRIREME_STORE; sleep 60"));
    ASSERT_TRUE(trireme.prints("127.0.0.1:", 2));
    const std::vector<pid_t> all = trireme.survivors();
    std::string token;
    for (const pid_t pid : all) {
        const std::string environment = contents_of(pid, "environ");
        const std::string name = "TRIREME_TOKEN=";
        const std::size_t at = environment.find(name);
        if (at != std::string::npos) token = environment.substr(at + name.size(), 64);
    }
    ASSERT_EQ(token.size(), 64U);
    for (const pid_t pid : all) {
        EXPECT_EQ(contents_of(pid, "cmdline").find(token), std::string::npos);
    }
    // Whoever does not know it is turned away.
    const std::string where = lines_of(trireme.out()).front().substr(4);
    const auto port = static_cast<std::uint16_t>(std::stoi(where.substr(where.find(':') + 1)));
    try {
        (void)tcp_store("127.0.0.1", port, 30s, "");
        ADD_FAILURE() << "let in without a token";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("tokens differ"), std::string::npos);
        EXPECT_EQ(std::string(error.what()).find(token), std::string::npos);
    }
    trireme.signal(SIGTERM);
    EXPECT_EQ(trireme.wait(), 143);
    EXPECT_EQ((trireme.out() + trireme.err()).find(token), std::string::npos);
}

TEST(Environment, RankZeroReadsStdinTheOthersNothing) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::write(ends[1], "typed\n", 6), 6);
    ::close(ends[1]);
    Launcher trireme(run_shell({"-n", "3"}, "cat; echo end"), {.environment = {}, .in = ends[0]});
    ::close(ends[0]);
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(count(trireme.out(), "[0] typed\n"), 1U);
    EXPECT_EQ(count(trireme.out(), "typed"), 1U);
    EXPECT_EQ(count(trireme.out(), "] end\n"), 3U);
}

TEST(Environment, TheStoreTellsHowARankEnded) {
    Launcher trireme({"run", "-n", "2", "--report-time", "30", self(), "fate"});
    EXPECT_EQ(trireme.wait(), 137);
    EXPECT_EQ(trireme.out(), "[0] rank 1 was killed by signal 9 (SIGKILL)\n");
}

}  // namespace
}  // namespace trireme::test

int main(int argc, char** argv) {
    using namespace trireme::test;
    const std::string word = argc == 2 ? argv[1] : "";
    if (word == "listen" || word == "listen-reuse") {
        return listen_on_master_port(word == "listen-reuse");
    }
    if (word == "descriptors") {
        return print_open_descriptors();
    }
    if (word == "fate") {
        return print_fate_of_rank_one();
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
