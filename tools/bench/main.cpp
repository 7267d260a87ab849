// trireme bench: measures operations, beside those of other libraries.

#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "bench_options.h"
#include "compare.h"
#include "grid.h"
#include "limits.h"
#include "lineup.h"
#include "ours.h"
#include "page.h"

namespace trireme::bench {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) {
        throw std::runtime_error(fmt::format("cannot write {}", path));
    }
}

int run_bench(int argc, char** argv) {
    const auto options = parse_options(argc, argv);
    if (!options) {
        return EXIT_SUCCESS;
    }
    require_peers(*options);
    for (const std::string& path : {options->json, options->html}) {
        if (!path.empty()) {
            write_file(path, "");  // what cannot be written fails now, not after twenty minutes
        }
    }
    bool failed = false;
    const nlohmann::json report = run_grid(*options, failed);
    if (!options->json.empty()) {
        write_file(options->json, report.dump(1) + "\n");
    }
    if (!options->html.empty()) {
        write_file(options->html, bench_page(report));
    }
    return failed ? exit_failed : EXIT_SUCCESS;
}

int main_of(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    try {
        if (first == "--contestant") {
            return serve_ours();
        }
        if (first == "page") {
            return page_command(argc - 1, argv + 1);
        }
        if (first == "limits") {
            return limits_command(argc - 1, argv + 1);
        }
        if (first == "compare") {
            return compare_command(argc - 1, argv + 1);
        }
        return run_bench(argc, argv);
    } catch (const UsageError& error) {
        fmt::print(stderr, "trireme bench: {}\n", error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "trireme bench: {}\n", error.what());
        return exit_failed;
    }
}

}  // namespace
}  // namespace trireme::bench

int main(int argc, char** argv) { return trireme::bench::main_of(argc, argv); }
