#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme trace`: puts the parts of traces together, or draws them. Returns the exit code.
int trace(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
