#include "observe/warn.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <memory>

namespace trireme {

namespace {

std::shared_ptr<spdlog::logger> logger() {
    if (auto registered = spdlog::get("trireme")) return registered;
    static const auto own = std::make_shared<spdlog::logger>(
        "trireme", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    return own;
}

}  // namespace

void warn(const std::string& text) noexcept {
    try {
        logger()->warn("{}", text);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is nobody to tell
    }
}

}  // namespace trireme
