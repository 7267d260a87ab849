#include "descriptor_limit.h"

#include <fmt/format.h>

#include "failure.h"

namespace trireme::tool {

rlim_t descriptors_for_launcher(int ranks, bool log_files) {
    // Each rank: two pipes, a process descriptor, a connection to the store, perhaps a log. The
    // rest: standard streams, event loops, sockets, the pipes of the rank being started.
    constexpr rlim_t base = 32;
    return base + static_cast<rlim_t>(ranks) * (log_files ? 5U : 4U);
}

rlimit make_room_for_descriptors(int ranks, bool log_files) {
    const rlim_t needed = descriptors_for_launcher(ranks, log_files);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        throw system_failure("getrlimit(RLIMIT_NOFILE)");
    }
    if (limit.rlim_cur >= needed) {
        return limit;
    }
    rlimit raised = limit;
    raised.rlim_cur = needed;
    if (limit.rlim_max < needed || ::setrlimit(RLIMIT_NOFILE, &raised) != 0) {
        throw Failure(
            fmt::format("{} ranks need {} open files, but the limit is {} (hard limit "
                        "{}); raise it with: ulimit -n {}",
                        ranks, needed, limit.rlim_cur, limit.rlim_max, needed));
    }
    return limit;
}

}  // namespace trireme::tool
