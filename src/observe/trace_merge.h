#pragma once

#include <filesystem>
#include <ostream>
#include <vector>

#include "observe/trace.h"

namespace trireme {

/// Writes a trace in the Chrome trace event format, which Perfetto (ui.perfetto.dev) and
/// chrome://tracing open: a process for each rank, a track for each of its groups (more where
/// operations overlap), arrows from rank to rank through the calls of one operation, in the order
/// in which the ranks made them: the last one kept the others waiting.
void write_chrome_trace(const Trace& trace, std::ostream& out);

/// Puts the parts of a trace together in the file `result`. It takes about as much memory as they
/// have bytes. Throws `Error(system)` where they have more than a GiB together, cannot be read, or
/// the result cannot be written.
void merge_trace_parts(const std::vector<std::filesystem::path>& parts,
                       const std::filesystem::path& result);

}  // namespace trireme
