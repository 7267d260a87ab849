#pragma once

#include <string>

namespace trireme::tool {

/// The file to execute for `name`, found as a shell would: itself where it has a slash, else in
/// PATH. Throws Failure, with exit code 127 where there is no such file and 126 where it cannot be
/// executed, so that the error comes once and before any rank starts.
[[nodiscard]] std::string find_program(const std::string& name);

/// What to tell, and which exit code to use, when executing `path` failed with `error`.
[[noreturn]] void throw_not_executable(const std::string& path, int error);

}  // namespace trireme::tool
