// trireme verify: compares parallel training with training on one process.

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <cstdlib>
#include <exception>
#include <set>
#include <string>

#include "verify/checks.h"
#include "verify/launch.h"
#include "verify/options.h"

namespace trireme::verify {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

/// How this rank reaches the others: "shm", "tcp", "shm and tcp".
std::string transports(const World& world) {
    std::set<std::string> names;
    for (int rank = 0; rank < world.size(); ++rank) {
        if (rank != world.rank()) names.emplace(world.transport(rank));
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " and "));
}

int run_checks(const Options& options, const World& world) {
    const Layout layout = lay_out(options, world.size());
    const auto log = make_log(options.log_dir, world.rank());
    const Mesh mesh = world.mesh({{"dp", layout.dp}, {"pp", layout.pp}, {"tp", layout.tp}});
    Context context{options.sizes,
                    mesh.group("dp"),
                    mesh.group("pp"),
                    mesh.group("tp"),
                    options.spoil_rank == world.rank(),
                    log,
                    Report(world.group(), log)};
    log->info("rank {} of {}: dp {} of {}, pp {} of {}, tp {} of {}; transport {}", world.rank(),
              world.size(), context.dp.rank(), layout.dp, context.pp.rank(), layout.pp,
              context.tp.rank(), layout.tp, transports(world));
    log->info("{} layers of [{}, {}] and [{}, {}]; batch [{}, {}, {}] in {} micro-batches",
              options.sizes.layers, options.sizes.intermediate, options.sizes.hidden,
              options.sizes.hidden, options.sizes.intermediate, options.sizes.batch,
              options.sizes.sequence, options.sizes.hidden, options.sizes.micro_batches);

    check_tensor_parallel(context);
    check_pipeline(context);
    check_data_parallel(context);
    check_combined(context);

    if (world.rank() == 0) {
        fmt::print("{} ranks: dp {} x pp {} x tp {}, transport {}\n", world.size(), layout.dp,
                   layout.pp, layout.tp, transports(world));
        if (!options.json.empty()) context.report.write_json(options.json);
        context.report.print();
    }
    world.group().barrier();  // nobody leaves before the result is out
    return context.report.all_passed() ? EXIT_SUCCESS : exit_failed;
}

/// Runs as one of the ranks. What is wrong with the command line is said once, by rank 0.
int run_rank(const Options& options) {
    const World world = World::from_env(world_options(options));
    try {
        return run_checks(options, world);
    } catch (const UsageError& error) {
        if (world.rank() == 0) fmt::print(stderr, "trireme verify: {}\n", error.what());
        world.group().barrier();  // the launcher ends all ranks when the first one leaves
        return exit_usage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rank {}: {}\n", world.rank(), error.what());
        return exit_failed;
    }
}

int main_of(int argc, char** argv) {
    try {
        const auto options = parse(argc, argv);
        if (!options) return EXIT_SUCCESS;
        if (!is_rank()) {
            const int ranks = ranks_to_start(*options);
            (void)lay_out(*options, ranks);  // refuses what does not divide before anything starts
            launch(ranks, argc, argv);
        }
        torch::set_num_threads(1);  // the ranks are what runs in parallel
        return run_rank(*options);
    } catch (const UsageError& error) {
        fmt::print(stderr, "trireme verify: {}\n", error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        const char* rank = std::getenv("RANK");
        fmt::print(stderr, "rank {}: {}\n", rank != nullptr ? rank : "?", error.what());
        return exit_failed;
    }
}

}  // namespace
}  // namespace trireme::verify

int main(int argc, char** argv) { return trireme::verify::main_of(argc, argv); }
