#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme dump`: what the ranks of a job, or of dump files, did and do, and where they part.
/// Returns the exit code.
int dump(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
