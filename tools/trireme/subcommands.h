#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// Names of the programs trireme-NAME beside this one and in PATH, sorted.
[[nodiscard]] std::vector<std::string> find_subcommands();

/// Becomes the program trireme-NAME, found beside this one or in PATH, with `arguments`. Throws
/// Failure with exit code 2 where there is none.
[[noreturn]] void become_subcommand(const std::string& name,
                                    const std::vector<std::string>& arguments);

}  // namespace trireme::tool
