#pragma once

#include <string>

namespace trireme {

/// Says on standard error what people should know while the program goes on. A program that wants
/// it elsewhere registers a spdlog logger named "trireme".
void warn(const std::string& text) noexcept;

}  // namespace trireme
