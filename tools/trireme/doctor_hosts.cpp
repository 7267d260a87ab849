// Whether the names of a set of hosts lead to them.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/unique_fd.h"
#include "doctor_finding.h"
#include "doctor_lookup.h"

namespace trireme::tool {
namespace {

// By the way that the kernel would take: a datagram socket sends nothing when it is connected.
// The address of this end, or empty and `obstacle`.
std::string own_end_towards(store::Address address, std::string& obstacle) {
    constexpr std::uint16_t any_port = 9;
    address.set_port(any_port);
    const UniqueFd socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) {
        obstacle = std::strerror(errno);
        return {};
    }
    return host_of(store::local_address(socket.get()));
}

Finding check_host(const std::string& host, bool alone) {
    const std::string check = "host " + host;
    const auto resolved = look_up(host);
    if (resolved.addresses.empty()) {
        return {check, Verdict::failure, "cannot be resolved: " + resolved.error,
                "correct the name, or add it to DNS or to /etc/hosts of every host"};
    }
    const std::string text = fmt::format("{}", fmt::join(texts_of(resolved.addresses), ", "));
    if (std::ranges::any_of(resolved.addresses, &store::Address::is_loopback)) {
        return {check, alone ? Verdict::ok : Verdict::failure,
                text + ": loopback, which on every host means itself",
                alone ? ""
                      : "give the name the address of its network in /etc/hosts of every host "
                        "(Debian writes 127.0.1.1 there), or name the host by its address"};
    }
    if (std::ranges::all_of(resolved.addresses, store::is_local)) {
        return {check, Verdict::ok, text + ": this host"};
    }
    std::string obstacle;
    for (const store::Address& address : resolved.addresses) {
        const std::string own = own_end_towards(address, obstacle);
        if (!own.empty()) {
            return {check, Verdict::ok, fmt::format("{}, reached from {}", text, own)};
        }
    }
    return {check, Verdict::failure, fmt::format("{}: no way there: {}", text, obstacle),
            "look at: ip route; bring the interface to that network up"};
}

}  // namespace

Findings check_hosts(const std::vector<std::string>& hosts) {
    Findings findings;
    std::set<std::string> seen;
    for (const std::string& host : hosts) {
        if (seen.insert(host).second) {
            findings.push_back(check_host(host, hosts.size() == 1));
        }
    }
    return findings;
}

}  // namespace trireme::tool
