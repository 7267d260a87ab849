#include "dump.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "dump_print.h"
#include "failure.h"
#include "job_choice.h"
#include "trireme/error.h"

namespace trireme::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_file_bytes = 64U << 20U;
constexpr std::size_t default_last = 10;

constexpr const char* dump_examples = R"(Examples:
  trireme dump                   the only job of this user on this host
  trireme dump 4711 --last 3     the job with this launcher, or this rank
  trireme dump --files dumps     what the ranks of a job that has ended wrote down

Says what each rank does now, where the ranks of a group part (the first collective at which they
made different calls, or to which some have come and others have not), and the last operations of
each rank. It reads what the ranks keep in memory, without their help: they may hang or be stopped.
Exit code: 0; 1 where there is no such job or no file; 2 for a wrong command line.)";

RankReport read_report(const fs::path& path) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error || bytes > most_file_bytes) {
        throw Failure(fmt::format("dump: {} {}", path.string(),
                                  error ? "cannot be read: " + error.message()
                                        : std::string("is too long for a dump file")));
    }
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    try {
        return parse_report(text);
    } catch (const Error& problem) {
        throw Failure(fmt::format("dump: {} is no dump file: {}", path.string(), problem.what()));
    }
}

bool is_dump_file(const fs::path& path) {
    return path.filename().string().starts_with("trireme-dump-") && path.extension() == ".json";
}

std::vector<RankReport> read_files(const std::vector<std::string>& names) {
    std::vector<RankReport> reports;
    for (const std::string& name : names) {
        std::error_code error;
        if (!fs::is_directory(name, error)) {
            reports.push_back(read_report(name));
            continue;
        }
        for (fs::directory_iterator it(name, error), end; !error && it != end;
             it.increment(error)) {
            if (!is_dump_file(it->path())) {
                continue;
            }
            // One that is cut off, or a stranger's, does not hide the others.
            try {
                reports.push_back(read_report(it->path()));
            } catch (const Failure& failure) {
                fmt::print(stderr, "trireme: {}; left out\n", failure.what());
            }
        }
    }
    if (reports.empty()) {
        throw Failure(fmt::format("dump: no file trireme-dump-*.json in {}", names.front()));
    }
    return reports;
}

}  // namespace

int dump(const std::vector<std::string>& arguments) {
    int pid = 0;
    std::vector<std::string> files;
    DumpStyle style{.last = default_last};
    bool json = false;
    bool all = false;
    CLI::App app("Shows what the ranks of a job did and do, and where they part.", "trireme dump");
    app.set_help_flag("-h,--help", "Print this and exit.");
    app.footer(dump_examples);
    auto* job_option =
        app.add_option("JOB", pid,
                       "The pid of the launcher, of a rank, or of anything above ranks;\n"
                       "without it: the only job that runs.\nExample: trireme dump 4711")
            ->type_name("")
            ->check(CLI::PositiveNumber.description(""));
    app.add_option("--files", files,
                   "Instead of a job: files that ranks wrote (SIGUSR2, TRIREME_DUMP), or\n"
                   "folders of them.\nExample: --files dumps")
        ->type_name("PATH...")
        ->excludes(job_option);
    auto* last = app.add_option("--last", style.last,
                                "So many operations of each rank (10; with --json: all).\n"
                                "Example: --last 100")
                     ->type_name("N")
                     ->check(CLI::NonNegativeNumber.description(""));
    app.add_flag("--all", all, "All operations that are recorded, the last 4096.\nExample: --all")
        ->excludes(last);
    app.add_flag("--json", json, "As JSON, for programs.\nExample: trireme dump --json 4711");
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            return app.exit(error);
        }
        throw Failure(fmt::format("dump: {} (see trireme dump --help)", error.what()), 2);
    }
    if (all || (json && last->empty())) {
        style.last = board::slots;
    }
    std::vector<RankReport> reports;
    if (files.empty()) {
        const RunningJob job = choose_job(pid, "dump");
        reports = make_reports(job.boards, board::slots);
        style.title = title_of(job);
    } else {
        reports = read_files(files);
    }
    const auto worlds = split_worlds(std::move(reports));
    fmt::print("{}", json ? dump_json(worlds, style) : dump_text(worlds, style));
    return 0;
}

}  // namespace trireme::tool
