#include "program_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "failure.h"

namespace trireme::tool {
namespace {

// 0 where `path` can be executed, else why not.
int executable_error(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
        return errno;
    }
    if (S_ISDIR(info.st_mode)) {
        return EISDIR;
    }
    // eaccess, not access: execve asks with the effective user too.
    return ::eaccess(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string hint(const std::string& path, int error) {
    if (error == ENOEXEC) {
        return "; does the script lack its first line, such as #!/bin/sh?";
    }
    if (error == EACCES && path.ends_with(".py")) {
        return fmt::format("; did you mean: python3 {}", path);
    }
    if (error == ENOENT && path.find('/') == std::string::npos &&
        ::access(path.c_str(), F_OK) == 0) {
        return fmt::format("; did you mean: ./{}", path);
    }
    if (error == ENOENT && ::access(path.c_str(), F_OK) == 0) {
        return "; the file is there, so it is its interpreter or loader that is missing";
    }
    return {};
}

}  // namespace

void throw_not_executable(const std::string& path, int error) {
    const bool missing = error == ENOENT || error == ENOTDIR;
    const char* where = missing && path.find('/') == std::string::npos ? " (searched in PATH)" : "";
    throw Failure(fmt::format("cannot execute {}: {}{}{}", path, std::strerror(error), where,
                              hint(path, error)),
                  missing ? 127 : 126);
}

std::string find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        if (const int error = executable_error(name)) {
            throw_not_executable(name, error);
        }
        return name;
    }
    const char* variable = std::getenv("PATH");
    std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
    std::string refused;
    while (!name.empty()) {
        const std::size_t end = path.find(':');
        const std::string_view folder = path.substr(0, end);
        const std::string candidate =
            folder.empty() ? "./" + name : std::string(folder) + "/" + name;
        const int error = executable_error(candidate);
        if (error == 0) {
            return candidate;
        }
        if (error == EACCES && refused.empty()) {
            refused = candidate;
        }
        if (end == std::string_view::npos) {
            break;
        }
        path.remove_prefix(end + 1);
    }
    if (!refused.empty()) {
        throw_not_executable(refused, EACCES);
    }
    throw_not_executable(name, ENOENT);
}

}  // namespace trireme::tool
