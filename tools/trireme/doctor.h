#pragma once

#include <string>
#include <vector>

namespace trireme::tool {

/// `trireme doctor`: looks whether this machine, or a set of hosts, can run a job. Returns the exit
/// code: 1 where something will fail.
int doctor(const std::vector<std::string>& arguments);

}  // namespace trireme::tool
