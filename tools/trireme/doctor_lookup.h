#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "store/endpoint.h"

namespace trireme::tool {

/// As `store::resolve`, for a while only: a resolver without an answer takes half a minute.
[[nodiscard]] store::Resolved look_up(const std::string& host,
                                      std::chrono::seconds patience = std::chrono::seconds(5));

/// An address without its port.
[[nodiscard]] std::string host_of(const store::Address& address);
/// Each once.
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<store::Address>& addresses);

}  // namespace trireme::tool
