#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme top`: what the ranks of a running job do, again and again. Returns the exit code.
int top(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
