#include "doctor.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/host_name.h"
#include "cores.h"
#include "doctor_connection.h"
#include "doctor_finding.h"
#include "failure.h"
#include "store/endpoint.h"

namespace trireme::tool {

std::string line_of_file(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string bytes_text(double bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) {
        bytes /= 1024;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, units[unit]);
}

namespace {

constexpr const char* doctor_examples = R"(Examples:
  trireme doctor -n 8
  trireme doctor -n 8 --hosts node1,node2,node3
  on node1: trireme doctor --listen 29400, then on node2: trireme doctor --connect node1:29400

Each finding is ok, a warning (slower, or not for every job) or a failure, with its remedy.
Exit code: 0; 1 where something is a failure; 2 for a wrong command line.)";

struct DoctorOptions {
    int ranks = 0;
    std::vector<std::string> hosts;
    int listen = -1;
    std::string connect;
    int seconds = 300;
    bool json = false;
};

class DoctorFormatter : public CLI::Formatter {
public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "\nUsage: trireme doctor [-n RANKS] [--hosts A,B,...] [--json]\n"
               "       trireme doctor --listen PORT [--for SECONDS]\n"
               "       trireme doctor --connect HOST:PORT [--json]\n";
    }
};

void add_options(CLI::App& app, DoctorOptions& options) {
    constexpr int most_ranks = 65536;
    constexpr int most_seconds = 86'400;
    app.add_option("-n,--ranks", options.ranks,
                   "Ranks that are to run on this host (one per core).\nExample: -n 8")
        ->type_name("N")
        ->check(CLI::Range(1, most_ranks).description(""));
    app.add_option("--hosts", options.hosts,
                   "The hosts of the job, this one among them, each with as many ranks:\n"
                   "are their names known, and is there a way to them?\n"
                   "Example: --hosts node1,node2")
        ->delimiter(',')
        ->type_name("NAMES");
    auto* listen = app.add_option("--listen", options.listen,
                                  "Answer doctors of other hosts on this port; 0: any.\n"
                                  "Example: --listen 29400")
                       ->type_name("PORT")
                       ->check(CLI::Range(0, 65535).description(""));
    app.add_option("--for", options.seconds,
                   "With --listen: how long, in seconds (300).\nExample: --for 60")
        ->type_name("SECONDS")
        ->check(CLI::Range(1, most_seconds).description(""));
    app.add_option("--connect", options.connect,
                   "Visit a doctor that listens: connection, round trip, clocks,\n"
                   "throughput.\nExample: --connect node1:29400")
        ->type_name("HOST:PORT")
        ->excludes(listen)
        ->check([](const std::string& text) {
            return store::parse_endpoint(text) ? std::string()
                                               : fmt::format("\"{}\" is no HOST:PORT", text);
        });
    app.add_flag("--json", options.json,
                 "Print the findings as JSON.\nExample: trireme doctor --json");
}

const char* word_for(Verdict verdict) {
    switch (verdict) {
        case Verdict::ok: return "ok";
        case Verdict::warning: return "warning";
        case Verdict::failure: break;
    }
    return "failure";
}

auto count_of(const Findings& findings, Verdict verdict) {
    return std::ranges::count(findings, verdict, &Finding::verdict);
}

void print_findings(const Findings& findings) {
    std::size_t width = 0;
    for (const Finding& finding : findings) {
        width = std::max(width, finding.check.size());
    }
    for (const Finding& finding : findings) {
        fmt::print("{:<{}}  {:<7}  {}\n", finding.check, width, word_for(finding.verdict),
                   finding.text);
        if (!finding.remedy.empty()) {
            fmt::print("{:<{}}  {:<7}  remedy: {}\n", "", width, "", finding.remedy);
        }
    }
    fmt::print("\n{} checks on {}: {} failures, {} warnings\n", findings.size(), host_name(),
               count_of(findings, Verdict::failure), count_of(findings, Verdict::warning));
}

void print_findings_json(const Findings& findings, const Patient& patient) {
    auto list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        nlohmann::ordered_json entry{{"check", finding.check},
                                     {"verdict", word_for(finding.verdict)},
                                     {"finding", finding.text}};
        if (!finding.remedy.empty()) {
            entry["remedy"] = finding.remedy;
        }
        list.push_back(std::move(entry));
    }
    const nlohmann::ordered_json report{{"host", host_name()},
                                        {"ranks", patient.ranks},
                                        {"world", patient.world},
                                        {"failures", count_of(findings, Verdict::failure)},
                                        {"warnings", count_of(findings, Verdict::warning)},
                                        {"findings", std::move(list)}};
    // What a resolver or a kernel said need not be UTF-8.
    fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Findings examine(const DoctorOptions& options, const Patient& patient) {
    if (!options.connect.empty()) {
        return check_connection(*store::parse_endpoint(options.connect));
    }
    Findings findings;
    const auto add = [&](Findings more) { std::ranges::move(more, std::back_inserter(findings)); };
    add(check_limits(patient));
    add(check_memory(patient));
    add(check_processes());
    add(check_network(patient));
    add(check_clocks(patient));
    add(check_hosts(options.hosts));
    return findings;
}

}  // namespace

int doctor(const std::vector<std::string>& arguments) {
    CLI::App app(
        "Looks whether this machine can run a job, before the job does: limits, shared memory,\n"
        "what processes may do with one another, names, addresses, ports, clocks.",
        "trireme doctor");
    app.set_help_flag("-h,--help", "Print this and exit.");
    app.formatter(std::make_shared<DoctorFormatter>());
    app.get_formatter()->column_width(26);
    app.footer(doctor_examples);
    DoctorOptions options;
    add_options(app, options);
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        throw Failure(fmt::format("doctor: {} (see trireme doctor --help)", error.what()), 2);
    }
    if (options.listen >= 0) {
        return serve_doctors(static_cast<std::uint16_t>(options.listen),
                             std::chrono::seconds(options.seconds));
    }
    Patient patient;
    patient.ranks = options.ranks > 0 ? options.ranks : usable_cores();
    patient.world = patient.ranks * std::max(1, static_cast<int>(options.hosts.size()));
    const Findings findings = examine(options, patient);
    options.json ? print_findings_json(findings, patient) : print_findings(findings);
    std::fflush(stdout);
    return count_of(findings, Verdict::failure) > 0 ? 1 : 0;
}

}  // namespace trireme::tool
