#include "run.h"

#include "descendants.h"
#include "descriptor_limit.h"
#include "guard.h"
#include "program_path.h"
#include "rank_environment.h"
#include "run_options.h"
#include "supervisor.h"

namespace trireme::tool {

int run(const std::vector<std::string>& arguments) {
    ParsedRun parsed = parse_run(arguments);
    if (!parsed.options) {
        return parsed.exit_code;
    }
    RunOptions& options = *parsed.options;
    // What can fail, first: an error before the first process leaves nothing to clear up.
    std::string program = find_program(options.command.front());
    const rlimit descriptors = make_room_for_descriptors(options.ranks, !options.log_dir.empty());
    std::string job_id = new_job_id();
    adopt_orphans();
    const Guard guard(job_id);  // forks, so before the supervisor and its threads
    Supervisor supervisor(std::move(options), std::move(program), std::move(job_id), guard.pid(),
                          descriptors);
    return supervisor.run();
}

}  // namespace trireme::tool
