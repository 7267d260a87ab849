// Names, addresses and ports of this host.

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/unique_fd.h"
#include "doctor_finding.h"
#include "doctor_lookup.h"
#include "group/bootstrap.h"
#include "store/endpoint.h"

namespace trireme::tool {
namespace {

struct Interface {
    std::string name;
    store::Address address;
};

std::vector<Interface> interfaces_that_are_up() {
    std::vector<Interface> found;
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return found;
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 ||
            (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6)) {
            continue;
        }
        Interface& interface = found.emplace_back(Interface{one->ifa_name, {}});
        interface.address.size =
            one->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&interface.address.storage, one->ifa_addr, interface.address.size);
    }
    return found;
}

Finding check_host_name() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const std::string host = name.data();
    const auto resolved = look_up(host);
    const std::vector<std::string> addresses = texts_of(resolved.addresses);
    const std::string say =
        "set MASTER_ADDR to an address that the other hosts reach, or add that address and the "
        "name to /etc/hosts";
    if (addresses.empty()) {
        return {"host name", Verdict::warning,
                fmt::format("\"{}\" cannot be resolved: {}", host, resolved.error), say};
    }
    const std::string text = fmt::format("\"{}\" is {}", host, fmt::join(addresses, ", "));
    if (std::ranges::all_of(resolved.addresses, &store::Address::is_loopback)) {
        return {
            "host name", Verdict::warning,
            text + ": loopback only, a rank elsewhere that is given this name may end at itself",
            say};
    }
    return {"host name", Verdict::ok, text};
}

Finding check_interfaces(const std::vector<Interface>& interfaces) {
    std::vector<std::string> shown;
    for (const Interface& one : interfaces) {
        // Link-local ones (IPv6) mean nothing without the name of the interface.
        if (!one.address.is_loopback() && !host_of(one.address).starts_with("fe80:")) {
            shown.push_back(fmt::format("{} {}", one.name, host_of(one.address)));
        }
    }
    if (shown.empty()) {
        return {"interfaces", Verdict::warning, "loopback only: all ranks must be on this host",
                "bring an interface up (ip link set eth0 up; ip addr add ...), or give the "
                "container a network"};
    }
    return {"interfaces", Verdict::ok, fmt::format("{}", fmt::join(shown, ", "))};
}

// The host of the store, as a rank here would find it; else any that is not here: the route to it
// leads through the interface that others are reached by. (Nothing is sent there: TEST-NET-2.)
std::string host_of_store() {
    constexpr const char* elsewhere = "198.51.100.1";
    if (const char* store = std::getenv("TRIREME_STORE")) {
        const auto endpoint = store::parse_endpoint(store);
        return endpoint ? endpoint->host : elsewhere;
    }
    const char* master = std::getenv("MASTER_ADDR");
    return master != nullptr && *master != '\0' ? master : elsewhere;
}

Finding check_announced(const std::vector<Interface>& interfaces) {
    const char* set = std::getenv("TRIREME_ADDRESS");
    const bool is_set = set != nullptr && *set != '\0';
    const std::string address = is_set ? set : local_address_towards(host_of_store());
    const std::string how = is_set ? "by TRIREME_ADDRESS" : "by the route to the store";
    const auto resolved = look_up(address);
    if (resolved.addresses.empty()) {
        return {"own address", Verdict::failure,
                fmt::format("{} {} cannot be resolved: {}", address, how, resolved.error),
                "set TRIREME_ADDRESS to one of the interfaces' addresses"};
    }
    const store::Address& first = resolved.addresses.front();
    const auto owner = std::ranges::find_if(
        interfaces, [&](const Interface& one) { return host_of(one.address) == host_of(first); });
    const std::string text =
        fmt::format("ranks here will say that they are at {} ({}{})", address,
                    owner != interfaces.end() ? "interface " + owner->name + ", " : "", how);
    if (owner == interfaces.end()) {
        return {"own address", Verdict::warning, text + ", which no interface has",
                "right only behind a router that forwards to this host; else set TRIREME_ADDRESS "
                "to one of the interfaces' addresses"};
    }
    if (first.is_loopback()) {
        return {"own address", Verdict::warning, text + ": only ranks of this host can reach them",
                "for several hosts set TRIREME_ADDRESS to an address of the network between them"};
    }
    return {"own address", Verdict::ok, text};
}

bool can_bind(const char* loopback) {
    const auto resolved = store::resolve({loopback, 0});
    return !resolved.addresses.empty() && store::is_local(resolved.addresses.front());
}

Finding check_versions() {
    const bool four = can_bind("127.0.0.1");
    const bool six = can_bind("::1");
    const std::string text = fmt::format("IPv4 {}, IPv6 {}", four ? "works" : "does not work",
                                         six ? "works" : "does not work");
    if (four || six) {
        return {"IP versions", Verdict::ok, text};
    }
    return {"IP versions", Verdict::failure, text, "ip link set lo up"};
}

// Each rank of another host takes one for each rank here, and so does the other way round.
Finding check_ports(const Patient& patient) {
    int low = 32768;
    int high = 60999;
    std::istringstream(line_of_file("/proc/sys/net/ipv4/ip_local_port_range")) >> low >> high;
    const long wanted = static_cast<long>(patient.ranks) * (patient.world - patient.ranks) + 100;
    Finding finding{"ports", Verdict::ok,
                    fmt::format("{} to {} for outgoing connections", low, high)};
    if (high - low + 1 < std::min(wanted, 28000L) || high - low + 1 < 1000) {
        finding.verdict = Verdict::warning;
        finding.text += fmt::format("; the job may take {}", wanted);
        finding.remedy = "sysctl net.ipv4.ip_local_port_range=\"32768 60999\"";
    }
    return finding;
}

Finding check_listen_queue(const Patient& patient) {
    const std::string line = line_of_file("/proc/sys/net/core/somaxconn");
    const int most = std::atoi(line.c_str());
    Finding finding{"listen queue", Verdict::ok,
                    fmt::format("{} connections may wait to be accepted (net.core.somaxconn)",
                                line.empty() ? "an unknown number of" : line)};
    if (!line.empty() && most < patient.world) {
        finding.verdict = Verdict::warning;
        finding.text += fmt::format(", {} ranks may come at once", patient.world);
        finding.remedy = fmt::format("sysctl net.core.somaxconn={}", std::max(4096, patient.world));
    }
    return finding;
}

}  // namespace

Findings check_network(const Patient& patient) {
    const std::vector<Interface> interfaces = interfaces_that_are_up();
    return {check_host_name(), check_interfaces(interfaces), check_announced(interfaces),
            check_versions(),  check_ports(patient),         check_listen_queue(patient)};
}

}  // namespace trireme::tool
