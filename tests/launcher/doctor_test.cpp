// `trireme doctor` as a user runs it.

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "launcher.h"
#include "store/endpoint.h"

namespace trireme::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

nlohmann::json finding_of(const nlohmann::json& report, const std::string& check) {
    for (const auto& finding : report["findings"]) {
        if (finding["check"] == check) {
            return finding;
        }
    }
    ADD_FAILURE() << "no check of " << check << " in " << report.dump(2);
    return {};
}

TEST(Doctor, ExaminesThisMachine) {
    Launcher doctor({"doctor", "-n", "2", "--json"});
    static_cast<void>(doctor.wait());
    const auto report = nlohmann::json::parse(doctor.out());
    EXPECT_EQ(report["ranks"], 2);
    int failures = 0;
    std::set<std::string> checks;
    for (const auto& finding : report["findings"]) {
        EXPECT_TRUE(checks.insert(finding["check"]).second) << finding;
        EXPECT_NE(finding["finding"], "");
        EXPECT_EQ(finding.contains("remedy"), finding["verdict"] != "ok") << finding;
        failures += finding["verdict"] == "failure" ? 1 : 0;
    }
    EXPECT_EQ(report["failures"], failures);
    for (const char* check :
         {"open files", "locked memory", "processes", "shared memory", "memory", "huge pages",
          "peers' memory", "pidfd_open", "membarrier", "Unix sockets", "host name", "interfaces",
          "own address", "IP versions", "ports", "listen queue", "clock of day", "steady clock",
          "cores"}) {
        EXPECT_TRUE(checks.contains(check)) << check;
    }
    // The other tests need them, too.
    EXPECT_EQ(finding_of(report, "shared memory")["verdict"], "ok");
    EXPECT_EQ(finding_of(report, "IP versions")["verdict"], "ok");
}

TEST(Doctor, AFailureHasItsRemedyAndExitCodeOne) {
    const Launcher::Setup shell{.environment = {}, .program = "/bin/sh"};
    Launcher doctor({"-c", std::string("ulimit -n 64; exec ") + TRIREME_PROGRAM + " doctor -n 16"},
                    shell);
    EXPECT_EQ(doctor.wait(), 1) << doctor.err();
    EXPECT_THAT(doctor.out(), AllOf(HasSubstr("open files"),
                                    HasSubstr("failure  at most 64; the launcher of 16 "
                                              "ranks needs 112, a rank in a world of 16 "
                                              "192"),
                                    HasSubstr("remedy: ulimit -Hn 192")));
}

TEST(Doctor, LooksAtTheNamesOfHosts) {
    Launcher doctor({"doctor", "--hosts", "no-such-host.invalid,127.0.0.1", "--json"});
    EXPECT_EQ(doctor.wait(), 1) << doctor.err();
    const auto report = nlohmann::json::parse(doctor.out());
    EXPECT_EQ(report["world"], report["ranks"].get<int>() * 2);
    const auto unknown = finding_of(report, "host no-such-host.invalid");
    EXPECT_EQ(unknown["verdict"], "failure");
    EXPECT_THAT(unknown["finding"].get<std::string>(), HasSubstr("cannot be resolved"));
    const auto loopback = finding_of(report, "host 127.0.0.1");
    EXPECT_EQ(loopback["verdict"], "failure");
    EXPECT_THAT(loopback["finding"].get<std::string>(), HasSubstr("loopback"));
}

TEST(Doctor, AnAddressThatIsNotHereIsNoticed) {
    Launcher doctor({"doctor", "--json"}, {.environment = {"TRIREME_ADDRESS=203.0.113.7"}});
    static_cast<void>(doctor.wait());
    const auto finding = finding_of(nlohmann::json::parse(doctor.out()), "own address");
    EXPECT_EQ(finding["verdict"], "warning");
    EXPECT_THAT(finding["finding"].get<std::string>(),
                AllOf(HasSubstr("203.0.113.7"), HasSubstr("no interface has")));
}

// The port that a listening doctor has got.
std::string port_of(Launcher& listening) {
    EXPECT_TRUE(listening.prints("listening on port ")) << listening.err();
    const std::string text = listening.out();
    const auto start = text.find("port ") + 5;
    return text.substr(start, text.find(' ', start) - start);
}

TEST(Doctor, VisitsAnotherOne) {
    Launcher listening({"doctor", "--listen", "0", "--for", "60"});
    const std::string port = port_of(listening);

    // A stranger is turned away, and keeps nobody out.
    const auto address = store::resolve({"127.0.0.1", *store::parse_port(port)}).addresses.at(0);
    UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(stranger.get(), address.get(), address.size), 0);
    ASSERT_GT(::send(stranger.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
    EXPECT_TRUE(listening.prints("it is no trireme doctor"));

    Launcher visitor({"doctor", "--connect", "127.0.0.1:" + port, "--json"});
    EXPECT_EQ(visitor.wait(), 0) << visitor.out() << visitor.err();
    const auto report = nlohmann::json::parse(visitor.out());
    ASSERT_EQ(report["findings"].size(), 4U);
    for (const char* check : {"connection", "round trip", "clocks", "throughput"}) {
        EXPECT_NE(finding_of(report, check)["verdict"], "failure");
    }
    // One clock: the estimate is zero, give or take what it says itself.
    EXPECT_EQ(finding_of(report, "clocks")["verdict"], "ok");
    EXPECT_TRUE(listening.prints("200 round trips"));
    listening.signal(SIGTERM);
    EXPECT_EQ(listening.wait(), -SIGTERM);

    Launcher late({"doctor", "--connect", "127.0.0.1:" + port});
    EXPECT_EQ(late.wait(), 1);
    EXPECT_THAT(late.out(), AllOf(HasSubstr("Connection refused"),
                                  HasSubstr("run there: trireme doctor --listen " + port)));
}

TEST(Doctor, AStrangerWhoAnswersIsNamedAsSuch) {
    const auto any = store::resolve({"127.0.0.1", 0}).addresses.at(0);
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener.get(), any.get(), any.size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    Launcher visitor({"doctor", "--connect", store::local_address(listener.get()).text()});
    const UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_GT(::send(client.get(), "SSH-2.0-OpenSSH\r\n", 17, MSG_NOSIGNAL), 0);
    EXPECT_EQ(visitor.wait(), 1);
    EXPECT_THAT(visitor.out(), HasSubstr("something else than a trireme doctor answers"));
}

TEST(Doctor, WrongCommandLinesAreErrorsWithCodeTwo) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"doctor", "--connect", "host"},
          {"doctor", "-n", "0"},
          {"doctor", "--listen", "70000"},
          {"doctor", "--listen", "0", "--connect", "host:1"}}) {
        Launcher trireme(words);
        EXPECT_EQ(trireme.wait(), 2) << trireme.out();
        EXPECT_THAT(trireme.err(), HasSubstr("trireme: doctor: "));
    }
    Launcher help({"doctor", "--help"});
    EXPECT_EQ(help.wait(), 0);
    EXPECT_THAT(help.out(), AllOf(HasSubstr("--hosts node1,node2"), HasSubstr("--listen 29400")));
}

}  // namespace
}  // namespace trireme::test
