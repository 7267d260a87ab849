#pragma once

#include <string>

namespace trireme {

/// The name of this host, as the kernel has it: for people to read, never to tell hosts apart.
[[nodiscard]] std::string host_name();

}  // namespace trireme
