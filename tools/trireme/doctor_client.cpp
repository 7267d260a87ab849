// The doctor who visits another one.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor_channel.h"
#include "doctor_connection.h"
#include "doctor_lookup.h"
#include "observe/clock_offset.h"

namespace trireme::tool {
namespace {

using asio::ip::tcp;
using ClientClock = std::chrono::steady_clock;

constexpr int round_trips = 200;
constexpr std::int64_t slow_trip = 2'000'000;      // ns
constexpr std::int64_t wrong_clock = 100'000'000;  // ns
constexpr double slow_network = 100e6;             // bytes per second: less than 1 Gbit/s

double milliseconds_since(ClientClock::time_point start) {
    return std::chrono::duration<double, std::milli>(ClientClock::now() - start).count();
}

// Throws Failure with what each of the addresses said.
Finding connect_to_doctor(DoctorChannel& channel, const store::Endpoint& endpoint) {
    const auto resolved = look_up(endpoint.host);
    if (resolved.addresses.empty()) {
        throw Failure(fmt::format("\"{}\" cannot be resolved: {}", endpoint.host, resolved.error));
    }
    std::vector<std::string> refusals;
    for (const std::string& address : texts_of(resolved.addresses)) {
        try {
            const tcp::endpoint peer(asio::ip::make_address(address), endpoint.port);
            const auto start = ClientClock::now();
            channel.run(address, DoctorChannel::limit,
                        [&](auto done) { channel.socket().async_connect(peer, std::move(done)); });
            const double took = milliseconds_since(start);
            channel.socket().set_option(tcp::no_delay(true));
            return {"connection", took < 1000 ? Verdict::ok : Verdict::warning,
                    fmt::format("{} to {} in {:.2f} ms",
                                channel.socket().local_endpoint().address().to_string(),
                                endpoint.text(), took),
                    took < 1000 ? "" : "packets are lost on the way: look at ip -s link"};
        } catch (const Failure& failure) {
            refusals.emplace_back(failure.what());
            asio::error_code ignored;
            channel.socket().close(ignored);  // NOLINT(bugprone-unused-return-value)
        }
    }
    throw Failure(fmt::format("{}", fmt::join(refusals, "; ")));
}

std::vector<ClockSample> exchange_times(DoctorChannel& channel) {
    std::vector<ClockSample> samples;
    for (int i = 0; i < round_trips; ++i) {
        const std::int64_t sent = DoctorChannel::time_of_day();
        channel.send("round trip", DoctorChannel::ping);
        const std::int64_t there = DoctorChannel::number_in(channel.receive("round trip"));
        samples.push_back({sent, there, DoctorChannel::time_of_day()});
    }
    return samples;
}

Finding judge_round_trip(const std::vector<ClockSample>& samples) {
    std::vector<std::int64_t> trips;
    for (const ClockSample& sample : samples) {
        trips.push_back(sample.received - sample.sent);
    }
    std::ranges::sort(trips);
    const std::int64_t median = trips[trips.size() / 2];
    Finding finding{
        "round trip", Verdict::ok,
        fmt::format("median {:.1f} us, best {:.1f} us, worst {:.1f} us of {}",
                    static_cast<double>(median) / 1e3, static_cast<double>(trips.front()) / 1e3,
                    static_cast<double>(trips.back()) / 1e3, trips.size())};
    if (median > slow_trip) {
        finding.verdict = Verdict::warning;
        finding.remedy =
            "hosts of one job should be in one network: each step of an operation "
            "waits so long";
    }
    return finding;
}

Finding judge_clocks(const std::vector<ClockSample>& samples) {
    const auto offset = estimate_offset(samples);
    if (!offset) {
        return {"clocks", Verdict::warning, "the clock of day was set back meanwhile",
                "see whether two programs set it: timedatectl, chronyc tracking"};
    }
    Finding finding{"clocks", Verdict::ok,
                    fmt::format("the clock there is {:+.3f} ms against this one, give or take "
                                "{:.3f} ms",
                                static_cast<double>(offset->offset) / 1e6,
                                static_cast<double>(offset->uncertainty) / 1e6)};
    if (std::abs(offset->offset) > wrong_clock) {
        finding.verdict = Verdict::warning;
        finding.remedy =
            "run chrony, systemd-timesyncd or ntpd on both hosts: logs cannot be "
            "compared else";
    }
    return finding;
}

Finding judge_throughput(DoctorChannel& channel) {
    constexpr std::chrono::seconds time{1};
    const std::vector<char> chunk(std::size_t{256} << 10);
    channel.send("throughput", DoctorChannel::flow);
    const auto start = ClientClock::now();
    while (ClientClock::now() - start < time) {
        channel.run("throughput", DoctorChannel::limit, [&](auto done) {
            asio::async_write(channel.socket(), asio::buffer(chunk), std::move(done));
        });
    }
    channel.socket().shutdown(tcp::socket::shutdown_send);
    const std::int64_t bytes = DoctorChannel::number_in(channel.receive("throughput"));
    const double rate = static_cast<double>(bytes) / milliseconds_since(start) * 1e3;
    Finding finding{"throughput", Verdict::ok,
                    fmt::format("{:.0f} MB/s by one connection", rate / 1e6)};
    if (rate < slow_network) {
        finding.verdict = Verdict::warning;
        finding.remedy =
            "if a faster network is there, name its address: TRIREME_ADDRESS, "
            "MASTER_ADDR";
    }
    return finding;
}

}  // namespace

Findings check_connection(const store::Endpoint& endpoint) {
    Findings findings;
    try {
        DoctorChannel channel;
        findings.push_back(connect_to_doctor(channel, endpoint));
        channel.send("greeting", DoctorChannel::greeting);
        if (channel.receive("greeting") != DoctorChannel::greeting) {
            throw Failure("something else than a trireme doctor answers");
        }
        const std::vector<ClockSample> samples = exchange_times(channel);
        findings.push_back(judge_round_trip(samples));
        findings.push_back(judge_clocks(samples));
        findings.push_back(judge_throughput(channel));
    } catch (const std::exception& error) {
        findings.push_back(
            {"connection", Verdict::failure, fmt::format("{}: {}", endpoint.text(), error.what()),
             fmt::format("run there: trireme doctor --listen {0}; let the firewalls pass port {0} "
                         "and, for a job, the ports of ip_local_port_range",
                         endpoint.port)});
    }
    return findings;
}

}  // namespace trireme::tool
