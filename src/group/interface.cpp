#include "group/interface.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "trireme/error.h"

namespace trireme {

namespace {

// By name; IPv4 addresses come first. An interface that is down has none that serves.
using Interfaces = std::map<std::string, std::vector<std::string>>;

// IPv6 addresses that hold on one wire only need the interface's name beside them, which on
// another host is another one.
bool is_link_local(const sockaddr* address) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof(in));
    return IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr);
}

Interfaces interfaces_here() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
    Interfaces found;
    for (const int family : {AF_INET, AF_INET6}) {
        for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
            auto& addresses = found[one->ifa_name];
            const sockaddr* const address = one->ifa_addr;
            if (address == nullptr || address->sa_family != family ||
                (one->ifa_flags & IFF_UP) == 0 || (family == AF_INET6 && is_link_local(address))) {
                continue;
            }
            const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
            char text[NI_MAXHOST] = "";
            if (::getnameinfo(address, size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
                addresses.emplace_back(text);
            }
        }
    }
    return found;
}

}  // namespace

std::string interface_address(const std::string& name) {
    const Interfaces interfaces = interfaces_here();
    const auto found = interfaces.find(name);
    if (found != interfaces.end() && !found->second.empty()) return found->second.front();
    std::vector<std::string> listed;
    for (const auto& [other, addresses] : interfaces) {
        listed.push_back(fmt::format("{} ({})", other,
                                     addresses.empty()
                                         ? "no address, or down"
                                         : fmt::format("{}", fmt::join(addresses, " "))));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TRIREME_INTERFACE=\"{}\": this host has {}; there are: {}", name,
                            found == interfaces.end() ? "no interface of that name"
                                                      : "no address on that interface",
                            fmt::join(listed, ", ")));
}

}  // namespace trireme
