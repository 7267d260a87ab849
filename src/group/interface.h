#pragma once

#include <string>

namespace trireme {

/// The address of a network interface of this host, such as "eth0": its IPv4 address, or where it
/// has none its IPv6 address that other hosts can use. Throws `Error(invalid_argument)`, with the
/// interfaces that there are and their addresses, where it has none or does not exist.
[[nodiscard]] std::string interface_address(const std::string& name);

}  // namespace trireme
