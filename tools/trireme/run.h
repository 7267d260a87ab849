#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme run`: `arguments` are those after it; returns the exit code. Throws Failure.
int run(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
