// What a rendezvous URL and the environment may say.

#include "store/rendezvous_plan.h"

#include <gtest/gtest.h>

#include "store/rendezvous.h"
#include "store/support.h"

namespace trireme::test {
namespace {

using store::plan_rendezvous;
using store::RendezvousPlan;

struct BadCase {
    const char* name;
    Environment::Variables changes;  // to a good environment
    std::vector<std::string> parts;  // of the error's text
};

// googletest prints the parameter of a failed test.
void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

const Environment::Variables good = {
    {"RANK", "1"},
    {"WORLD_SIZE", "4"},
    {"MASTER_ADDR", "::1"},
    {"MASTER_PORT", "29500"},
    {"TRIREME_STORE", nullptr},
    {"TORCHELASTIC_USE_AGENT_STORE", nullptr},
};

class BadEnvironment : public testing::TestWithParam<BadCase> {};

TEST_P(BadEnvironment, IsRefusedAtOnce) {
    const Environment base(good);
    const Environment changed(GetParam().changes);
    const auto start = std::chrono::steady_clock::now();
    try {
        (void)rendezvous("env://", -1, -1, plenty);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        for (const std::string& part : GetParam().parts) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << "no \"" << part << "\" in: " << error.what();
        }
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadEnvironment,
    testing::Values(
        BadCase{"no_rank", {{"RANK", nullptr}}, {"RANK is not set", "from 0 to 3"}},
        BadCase{"word_rank", {{"RANK", "a"}}, {"RANK='a'", "from 0 to 3"}},
        BadCase{"empty_rank", {{"RANK", ""}}, {"RANK=''", "from 0 to 3"}},
        BadCase{"rank_with_tail", {{"RANK", "1 "}}, {"RANK='1 '"}},
        BadCase{"rank_too_large", {{"RANK", "4"}}, {"RANK=4", "WORLD_SIZE=4", "from 0 to 3"}},
        BadCase{"negative_rank", {{"RANK", "-1"}}, {"RANK=-1", "from 0 to 3"}},
        BadCase{"huge_rank", {{"RANK", "99999999999999999999"}}, {"RANK='9999"}},
        BadCase{"no_size", {{"WORLD_SIZE", nullptr}}, {"WORLD_SIZE is not set", "1 or more"}},
        BadCase{"size_zero", {{"WORLD_SIZE", "0"}}, {"WORLD_SIZE=0", "1 or more"}},
        BadCase{"negative_size", {{"WORLD_SIZE", "-1"}}, {"WORLD_SIZE=-1", "1 or more"}},
        BadCase{"word_size", {{"WORLD_SIZE", "two"}}, {"WORLD_SIZE='two'"}},
        BadCase{"no_address", {{"MASTER_ADDR", nullptr}}, {"MASTER_ADDR is not set", "rank 0"}},
        BadCase{"empty_address", {{"MASTER_ADDR", ""}}, {"MASTER_ADDR is empty"}},
        BadCase{"url_address", {{"MASTER_ADDR", "tcp://a"}}, {"MASTER_ADDR='tcp://a'"}},
        BadCase{"no_port", {{"MASTER_PORT", nullptr}}, {"MASTER_PORT is not set", "65535"}},
        BadCase{"port_zero", {{"MASTER_PORT", "0"}}, {"MASTER_PORT='0'", "1 to 65535"}},
        BadCase{"port_too_large", {{"MASTER_PORT", "70000"}}, {"MASTER_PORT='70000'"}},
        BadCase{"word_port", {{"MASTER_PORT", "x"}}, {"MASTER_PORT='x'", "1 to 65535"}},
        BadCase{"negative_port", {{"MASTER_PORT", "-5"}}, {"MASTER_PORT='-5'"}},
        BadCase{"store_alone", {{"TRIREME_STORE", "host"}}, {"TRIREME_STORE='host'", "host:port"}},
        BadCase{"empty_store", {{"TRIREME_STORE", ""}}, {"TRIREME_STORE=''"}},
        BadCase{"bare_v6_store", {{"TRIREME_STORE", "::1:29500"}}, {"brackets"}},
        BadCase{"torchrun",
                {{"TORCHELASTIC_USE_AGENT_STORE", "True"}},
                {"TORCHELASTIC_USE_AGENT_STORE", "trireme run", "tcp://"}}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(RendezvousPlan, ReadsTheEnvironment) {
    const Environment base(good);
    RendezvousPlan plan = plan_rendezvous("env://", -1, -1);
    EXPECT_EQ(plan.kind, RendezvousPlan::Kind::hosted);
    EXPECT_EQ(plan.endpoint.text(), "[::1]:29500");
    EXPECT_EQ(plan.rank, 1);
    EXPECT_EQ(plan.size, 4);
    const Environment launched(
        {{"TRIREME_STORE", "[fd00::2]:1234"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
    plan = plan_rendezvous("env://", -1, -1);
    EXPECT_EQ(plan.kind, RendezvousPlan::Kind::client);
    EXPECT_EQ(plan.endpoint.host, "fd00::2");
    EXPECT_EQ(plan.endpoint.port, 1234);
}

TEST(RendezvousPlan, ArgumentsComeBeforeTheQueryAndTheQueryBeforeTheEnvironment) {
    const Environment base(good);
    RendezvousPlan plan = plan_rendezvous("tcp://node1:7?rank=2&world_size=3", -1, -1);
    EXPECT_EQ(plan.kind, RendezvousPlan::Kind::hosted);
    EXPECT_EQ(plan.endpoint.text(), "node1:7");
    EXPECT_EQ(plan.rank, 2);
    EXPECT_EQ(plan.size, 3);
    plan = plan_rendezvous("tcp://node1:7?rank=2&world_size=3", 0, -1);
    EXPECT_EQ(plan.rank, 0);
    plan = plan_rendezvous("file:///tmp/a b?world_size=2", -1, -1);
    EXPECT_EQ(plan.kind, RendezvousPlan::Kind::file);
    EXPECT_EQ(plan.path, "/tmp/a b");
    EXPECT_EQ(plan.rank, 1);
    EXPECT_EQ(plan.size, 2);
}

TEST(RendezvousPlan, RefusesBadUrlsAndArguments) {
    const Environment base(good);
    const auto refused = [](const char* url, int rank, int size, const char* part) {
        expect_error(ErrorCode::invalid_argument, {part},
                     [&] { (void)plan_rendezvous(url, rank, size); });
    };
    refused("", 0, 1, "tcp://host:port");
    refused("localhost:29500", 0, 1, "tcp://host:port");
    refused("http://localhost:29500", 0, 1, "unknown scheme");
    refused("tcp://localhost", 0, 1, "'localhost'");
    refused("tcp://localhost:", 0, 1, "'localhost:'");
    refused("tcp://localhost:0", 0, 1, "1 to 65535");
    refused("tcp://:29500", 0, 1, "':29500'");
    refused("file://relative/path", 0, 1, "three slashes");
    refused("file://", 0, 1, "three slashes");
    refused("file:///", 0, 1, "three slashes");
    refused("tcp://a:1?rank=x", -1, 2, "rank in 'tcp://a:1?rank=x'='x'");
    refused("tcp://a:1", 2, 2, "rank=2");
    refused("tcp://a:1", -2, 2, "rank=-2");
    refused("tcp://a:1", 0, 0, "world_size=0");
}

}  // namespace
}  // namespace trireme::test
