#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme sim`: `arguments` are those after it; returns the exit code. Throws Failure.
int sim(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
