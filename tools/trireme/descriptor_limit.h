#pragma once

#include <sys/resource.h>

namespace trireme::tool {

/// How many descriptors a launcher of `ranks` needs.
[[nodiscard]] rlim_t descriptors_for_launcher(int ranks, bool log_files);

/// Makes room for the descriptors that a launcher of `ranks` needs, by raising the soft limit if
/// need be. Throws Failure with the limit needed and the present one where the hard limit forbids
/// it. Returns the limit as it was, which the ranks get: a program that uses select() or closes
/// every possible descriptor relies on it.
rlimit make_room_for_descriptors(int ranks, bool log_files);

}  // namespace trireme::tool
