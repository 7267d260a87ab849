#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme algorithms`: prints the selection table; `arguments` are those after it. Returns the
/// exit code. Throws Failure.
int algorithms(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
