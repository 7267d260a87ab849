#include "trace.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "failure.h"
#include "observe/trace_files.h"
#include "observe/trace_merge.h"
#include "trace_svg.h"

namespace trireme::tool {
namespace {

constexpr const char* about_trace =
    "Puts the parts of a trace that its ranks have left in DIR together, as rank 0 does when all\n"
    "ranks come to their end: after a crash, or where every host has a folder of its own.\n"
    "TRIREME_TRACE=DIR makes a job write one; ui.perfetto.dev opens DIR/trireme-JOB.json.";

void draw(const std::string& file, const std::string& picture) {
    constexpr std::uintmax_t longest = std::uintmax_t{64} << 20;
    const auto no_trace =
        fmt::format("trace: {} is no trace of Trireme (DIR/trireme-JOB.json)", file);
    std::error_code error;
    // A pipe would keep it waiting for who writes there.
    if (!std::filesystem::is_regular_file(file, error)) {
        throw Failure(no_trace);
    }
    if (std::filesystem::file_size(file, error) > longest && !error) {
        throw Failure(
            fmt::format("trace: {} is too long for a picture; see ui.perfetto.dev", file));
    }
    const auto trace = nlohmann::json::parse(std::ifstream(file), nullptr, false);
    try {
        std::ofstream out(picture);
        out << trace_svg(trace);
        out.close();
        if (!out) {
            throw Failure(fmt::format("trace: cannot write {}", picture));
        }
    } catch (const nlohmann::json::exception&) {
        throw Failure(no_trace);
    }
}

// Returns whether there was something to do.
bool put_together(const std::string& folder, const std::string& job) {
    const auto parts = find_trace_parts(folder, job);
    const auto result = trace_path(folder, job);
    if (std::filesystem::exists(result)) {
        fmt::print(stderr, "trireme: trace: {} is there already, and stays\n", result.string());
        return false;
    }
    merge_trace_parts(parts, result);
    fmt::print("{}: {} ranks\n", result.string(), parts.size());
    return true;
}

}  // namespace

int trace(const std::vector<std::string>& arguments) {
    std::string folder;
    std::string picture;
    CLI::App app(about_trace, "trireme trace");
    app.add_option("DIR", folder,
                   "The folder that TRIREME_TRACE named.\nExample: trireme trace traces")
        ->required();
    app.add_option("--svg", picture,
                   "Draw a short trace into this file.\n"
                   "Example: trireme trace traces/trireme-1.json --svg trace.svg")
        ->type_name("FILE");
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        throw Failure(fmt::format("trace: {} (see trireme trace --help)", error.what()), 2);
    }
    if (!picture.empty()) {
        draw(folder, picture);
        return 0;
    }
    const auto jobs = find_trace_jobs(folder);
    if (jobs.empty()) {
        throw Failure(fmt::format("trace: there is no part of a trace in {}", folder));
    }
    int done = 0;
    for (const std::string& job : jobs) {
        done += put_together(folder, job) ? 1 : 0;
    }
    return done > 0 ? 0 : 1;
}

}  // namespace trireme::tool
