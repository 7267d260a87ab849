// Figures for Prometheus, over HTTP.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "observe/metrics_server.h"
#include "store/endpoint.h"
#include "support/expect_error.h"
#include "support/ranks.h"

namespace trireme {
namespace {

using testing::HasSubstr;

UniqueFd connect_to(const std::string& endpoint) {
    const auto address = store::resolve(*store::parse_endpoint(endpoint)).addresses.at(0);
    UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), address.get(), address.size), 0);
    return socket;
}

// All that comes back until the other side closes.
std::string ask(const std::string& endpoint, const std::string& request) {
    const UniqueFd socket = connect_to(endpoint);
    // The other side may have enough before it has read all of it.
    std::size_t sent = 0;
    while (sent < request.size()) {
        const ssize_t count =
            ::send(socket.get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
    }
    std::string answer;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(socket.get(), buffer, sizeof buffer)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(count));
    return answer;
}

std::string get(const std::string& endpoint, const std::string& path = "/metrics") {
    return ask(endpoint, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

std::map<std::string, double> values_in(const std::string& text) {
    std::map<std::string, double> values;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("trireme_")) {
            const auto space = line.rfind(' ');
            values[line.substr(0, space)] = std::stod(line.substr(space + 1));
        }
    return values;
}

std::string endpoint_of(const World& world) {
    const std::string url =
        world.store().get("metrics/" + std::to_string(world.rank()), Timeout(10'000));
    return url.substr(7, url.rfind('/') - 7);  // between "http://" and "/metrics"
}

WorldOptions options_with_metrics() {
    WorldOptions options = test_options();
    options.metrics = "127.0.0.1:0";
    return options;
}

TEST(Metrics, CountTheCalls) {
    run_ranks(
        2,
        [](World& world) {
            const Group group = world.group();
            std::vector<float> x(100);
            for (int i = 0; i < 7; ++i) group.all_reduce(x);
            group.barrier();
            if (world.rank() == 0) {
                int never = 0;
                EXPECT_THROW(world.group({0, 1}, "lost").with(Timeout(100)).recv(never, Peer{1}),
                             Error);
            } else {
                static_cast<void>(world.group({0, 1}, "lost"));
            }
            const std::string answer = get(endpoint_of(world));
            EXPECT_THAT(answer, HasSubstr("200 OK"));
            EXPECT_THAT(answer, HasSubstr("# TYPE trireme_operation_seconds histogram"));
            auto values = values_in(answer);
            const std::string labels = "{rank=\"" + std::to_string(world.rank()) + "\",size=\"2\"";
            const std::string reduced = labels + ",kind=\"all_reduce\"";
            EXPECT_EQ(values["trireme_operations_begun_total" + reduced + "}"], 7);
            EXPECT_EQ(values["trireme_operations_ended_total" + reduced + "}"], 7);
            EXPECT_EQ(values["trireme_operations_failed_total" + reduced + "}"], 0);
            EXPECT_EQ(values["trireme_operation_bytes_total" + reduced + "}"], 7 * 400);
            EXPECT_EQ(values["trireme_operation_seconds_count" + reduced + "}"], 7);
            EXPECT_EQ(values["trireme_operation_seconds_bucket" + reduced + ",le=\"+Inf\"}"], 7);
            // Calls whose peers were there already count as taking no time.
            EXPECT_TRUE(values.contains("trireme_operation_seconds_sum" + reduced + "}"));
            EXPECT_EQ(values["trireme_operations_ended_total" + labels + ",kind=\"barrier\"}"], 1);
            if (world.rank() == 0) {
                const std::string received = labels + ",kind=\"recv\"}";
                EXPECT_EQ(values["trireme_operations_failed_total" + received], 1);
                EXPECT_GE(values["trireme_operation_seconds_sum" + received], 0.1);
            }
            EXPECT_EQ(values["trireme_operations_unseen_total" + labels + "}"], 0);
            group.barrier();
        },
        options_with_metrics());
}

TEST(Metrics, ShowWhatIsUnderWay) {
    run_ranks(
        2,
        [](World& world) {
            int x = 0;
            if (world.rank() == 0) {
                Work work = world.group().recv_async(x, Peer{1});
                const std::string labels = "{rank=\"0\",size=\"2\"}";
                auto values = values_in(get(endpoint_of(world)));
                EXPECT_EQ(values["trireme_operations_under_way" + labels], 1);
                EXPECT_GT(values["trireme_oldest_operation_seconds" + labels], 0);
                world.group().barrier();
                work.wait();
                values = values_in(get(endpoint_of(world)));
                EXPECT_EQ(values["trireme_operations_under_way" + labels], 0);
                EXPECT_EQ(values["trireme_oldest_operation_seconds" + labels], 0);
            } else {
                world.group().barrier();
                world.group().send(x, Peer{0});
            }
        },
        options_with_metrics());
}

TEST(Metrics, StrangersDoNoHarm) {
    run_ranks(
        1,
        [](World& world) {
            const std::string endpoint = endpoint_of(world);
            EXPECT_THAT(get(endpoint, "/secret"), HasSubstr("404"));
            static_cast<void>(ask(endpoint, "\x16\x03\x01 no HTTP at all\r\n\r\n"));
            static_cast<void>(ask(endpoint, std::string(100'000, 'x')));
            static_cast<void>(ask(endpoint,
                                  "POST /metrics HTTP/1.1\r\nContent-Length: "
                                  "999999999999\r\n\r\n"));
            std::vector<UniqueFd> silent;
            for (int i = 0; i < 8; ++i) silent.push_back(connect_to(endpoint));
            world.group().barrier();
            EXPECT_THAT(get(endpoint), HasSubstr("kind=\"barrier\"} 1"));
            // The world ends although they are still connected.
            silent.push_back(connect_to(endpoint));
        },
        options_with_metrics());
}

TEST(Metrics, APortThatIsTakenIsNamed) {
    const MetricsServer first("127.0.0.1:0", 0, [] { return std::string("first"); });
    const std::string url = first.url();
    const std::string endpoint = url.substr(7, url.rfind('/') - 7);
    EXPECT_THAT(get(endpoint), HasSubstr("first"));
    const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
    test::expect_error(ErrorCode::system, {"TRIREME_METRICS=\"" + endpoint + "\"", "port " + port},
                       [&] { const MetricsServer second(endpoint, 0, {}); });
    // The local rank makes it another one.
    const std::string below = "127.0.0.1:" + std::to_string(std::stoi(port) - 1);
    test::expect_error(ErrorCode::system, {"port " + port},
                       [&] { const MetricsServer second(below, 1, {}); });
}

TEST(Metrics, AnAddressThatIsNoneIsNamed) {
    for (const char* address : {"9400", "", "host", "host:", "host:x", "127.0.0.1:65536", ":0"})
        test::expect_invalid([&] { const MetricsServer server(address, 0, {}); },
                             {"TRIREME_METRICS=", "expected host:port"});
    test::expect_invalid([&] { const MetricsServer server("127.0.0.1:65535", 3, {}); },
                         {"beyond 65535"});
}

}  // namespace
}  // namespace trireme
