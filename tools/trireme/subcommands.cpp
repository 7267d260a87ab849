#include "subcommands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "failure.h"
#include "program_path.h"

namespace trireme::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view stem = "trireme-";

bool is_program(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && ::eaccess(path.c_str(), X_OK) == 0;
}

// This program's own folder first, so that a build finds the parts of the same build.
std::vector<fs::path> folders() {
    std::vector<fs::path> result;
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        result.push_back(self.parent_path());
    }
    const char* variable = std::getenv("PATH");
    std::string_view path = variable != nullptr ? variable : "";
    while (!path.empty()) {
        const std::size_t end = std::min(path.find(':'), path.size());
        result.emplace_back(end == 0 ? "." : path.substr(0, end));
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return result;
}

}  // namespace

std::vector<std::string> find_subcommands() {
    std::set<std::string> names;
    for (const fs::path& folder : folders()) {
        std::error_code error;
        for (fs::directory_iterator it(folder, error), end; !error && it != end;
             it.increment(error)) {
            const std::string file = it->path().filename();
            if (file.starts_with(stem) && file.size() > stem.size() && is_program(it->path())) {
                names.insert(file.substr(stem.size()));
            }
        }
    }
    return {names.begin(), names.end()};
}

void become_subcommand(const std::string& name, const std::vector<std::string>& arguments) {
    const std::string file = std::string(stem) + name;
    for (const fs::path& folder : folders()) {
        const std::string path = folder / file;
        if (name.empty() || name.find('/') != std::string::npos || !is_program(path)) {
            continue;
        }
        std::vector<char*> argv{const_cast<char*>(path.c_str())};
        for (const std::string& argument : arguments) {
            argv.push_back(const_cast<char*>(argument.c_str()));
        }
        argv.push_back(nullptr);
        ::execv(path.c_str(), argv.data());
        throw_not_executable(path, errno);
    }
    throw Failure(fmt::format("unknown command \"{}\": it is not built in, and there is no "
                              "program {} beside trireme or in PATH (see trireme --help)",
                              name, file),
                  2);
}

}  // namespace trireme::tool
