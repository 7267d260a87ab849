#include "verify/report.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trireme/error.h"

namespace trireme::verify {

std::shared_ptr<spdlog::logger> make_log(const std::string& directory, int rank) {
    spdlog::sink_ptr sink = std::make_shared<spdlog::sinks::null_sink_mt>();
    if (!directory.empty()) {
        std::filesystem::create_directories(directory);
        const std::filesystem::path path =
            std::filesystem::path(directory) / fmt::format("rank-{}.log", rank);
        constexpr bool truncate = true;
        sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string(), truncate);
    }
    auto log = std::make_shared<spdlog::logger>(fmt::format("rank {}", rank), sink);
    log->flush_on(spdlog::level::info);
    return log;
}

Report::Report(Group all, std::shared_ptr<spdlog::logger> log)
    : all_(std::move(all)), log_(std::move(log)) {}

void Report::add(const std::string& name, const Comparison& comparison) {
    for (const std::string& failure : comparison.failures()) {
        log_->error("{}: {}", name, failure);
        fmt::print(stderr, "rank {}: {}: {}\n", all_.rank(), name, failure);
    }
    log_->info("{}: {} here, largest error {:.1e}", name, comparison.passed() ? "passed" : "failed",
               comparison.max_error());
    std::int32_t passed = comparison.passed() ? 1 : 0;
    double error = comparison.max_error();
    all_.all_reduce(passed, min);
    all_.all_reduce(error, max);
    checks_.push_back({name, passed == 1, error});
}

std::size_t Report::failed() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(checks_, [](const Check& check) { return !check.passed; }));
}

void Report::print() const {
    fmt::print("{:<16}{:<10}{}\n", "check", "result", "largest error");
    for (const Check& check : checks_) {
        fmt::print("{:<16}{:<10}{:.1e}\n", check.name, check.passed ? "passed" : "FAILED",
                   check.max_error);
    }
    fmt::print("{} passed, {} failed\n", checks_.size() - failed(), failed());
    std::fflush(stdout);
}

void Report::write_json(const std::string& path) const {
    nlohmann::ordered_json checks = nlohmann::ordered_json::array();
    for (const Check& check : checks_) {
        checks.push_back(
            {{"name", check.name}, {"passed", check.passed}, {"max_error", check.max_error}});
    }
    const nlohmann::ordered_json report{
        {"passed", checks_.size() - failed()}, {"failed", failed()}, {"checks", checks}};
    std::ofstream file(path);
    file << report.dump(2) << '\n';
    if (!file.flush()) throw Error(ErrorCode::system, "cannot write --json " + path);
}

}  // namespace trireme::verify
