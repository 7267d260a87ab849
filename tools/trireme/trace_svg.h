#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace trireme::tool {

/// A picture of a short trace, as `write_chrome_trace` writes it: a row for each track, operations
/// as bars. Throws `nlohmann::json::exception` for another one.
[[nodiscard]] std::string trace_svg(const nlohmann::json& trace);

}  // namespace trireme::tool
