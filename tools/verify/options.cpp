#include "verify/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <numeric>

namespace trireme::verify {

namespace {

constexpr int default_ranks = 8;

constexpr const char* about =
    "Proves on this machine that tensor, pipeline and data parallel training, each alone and all "
    "at once, computes what one process computes.\n"
    "Starts its own ranks, or uses those of `trireme run`. The last line is `N passed, M failed`; "
    "exit code 0 if all passed, 1 if not, 2 for an impossible command line.\n"
    "Example: trireme verify --world 8 --tp 2 --pp 2 --dp 2";

void add_options(CLI::App& app, Options& options, std::string& device) {
    // Not CLI::PositiveNumber, whose error shows the largest double in 309 digits.
    const auto positive = CLI::Range(1, 1 << 30);
    app.add_option("--tp", options.tp,
                   "Tensor parallel ranks: --tp 2. Default: 2 if what is left is even, else 1")
        ->check(positive);
    app.add_option("--pp", options.pp,
                   "Pipeline stages: --pp 2. Default: 2 if what is left is even, else 1")
        ->check(positive);
    app.add_option("--dp", options.dp,
                   "Data parallel replicas: --dp 2. Default: what is left of the ranks")
        ->check(positive);
    app.add_option("--world", options.world,
                   "All ranks, tp x pp x dp: --world 8. Default: that product, or 8")
        ->check(positive);
    app.add_option("--device", device, "Where tensors lie, only cpu so far: --device cpu");
    app.add_option("--transport", options.transport, "auto, shm or tcp: --transport tcp")
        ->check(CLI::IsMember({"auto", "shm", "tcp"}));
    app.add_option("--timeout-seconds", options.timeout_seconds,
                   "How long an operation may take: --timeout-seconds 30. Default: TRIREME_TIMEOUT "
                   "or 600")
        ->check(CLI::Range(0.001, 1e6));
    Sizes& sizes = options.sizes;
    app.add_option("--hidden", sizes.hidden, "Width of the model: --hidden 32")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--intermediate", sizes.intermediate,
                   "Width between the two matrices of a layer, a multiple of tp: --intermediate 64")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--batch", sizes.batch, "Samples per replica: --batch 8")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--sequence", sizes.sequence, "Tokens per sample: --sequence 16")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--layers", sizes.layers, "Layers, a multiple of pp: --layers 4")
        ->check(positive)
        ->capture_default_str();
    app.add_option("--micro-batches", sizes.micro_batches,
                   "Parts of a batch in the pipeline: --micro-batches 2. Default: 4 or a divisor")
        ->check(positive);
    app.add_option("--log-dir", options.log_dir, "A log of each rank goes here: --log-dir logs");
    app.add_option("--json", options.json, "The results go into this file: --json verify.json");
    app.add_option("--spoil-rank", options.spoil_rank,
                   "Add an error to this rank's gradients, to see checks fail: --spoil-rank 3")
        ->check(CLI::NonNegativeNumber);
}

void need_multiple(const char* what, std::int64_t size, const char* of, std::int64_t parts) {
    if (size % parts != 0) {
        throw UsageError(fmt::format("{} {} does not divide into {} {}", what, size, of, parts));
    }
}

// Only the axes that were asked for are shown.
std::string does_not_fit(const Layout& asked, int ranks) {
    std::vector<std::string> factors;
    double product = 1;  // three options of up to 2^30 each
    const auto factor = [&](const char* axis, int size) {
        if (size == 0) return;
        factors.push_back(fmt::format("{} {}", axis, size));
        product *= size;
    };
    factor("tp", asked.tp);
    factor("pp", asked.pp);
    factor("dp", asked.dp);
    return fmt::format("{} makes {:.0f} ranks{}, but there are {}", fmt::join(factors, " x "),
                       product, factors.size() < 3 ? " or a multiple" : "", ranks);
}

}  // namespace

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    std::string device = "cpu";
    CLI::App app(about, "trireme verify");
    add_options(app, options, device);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        app.exit(help);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        throw UsageError(std::string(error.what()) + " (see --help)");
    }
    if (device != "cpu") {
        throw UsageError(
            fmt::format("--device {}: this build of Trireme moves host memory only; use --device "
                        "cpu",
                        device));
    }
    Sizes& sizes = options.sizes;
    if (sizes.micro_batches == 0) sizes.micro_batches = std::gcd(sizes.batch, std::int64_t{4});
    need_multiple("--batch", sizes.batch, "--micro-batches", sizes.micro_batches);
    return options;
}

int ranks_to_start(const Options& options) {
    if (options.world > 0) return options.world;
    const bool given = options.tp > 0 || options.pp > 0 || options.dp > 0;
    if (!given) return default_ranks;
    return std::max(options.tp, 1) * std::max(options.pp, 1) * std::max(options.dp, 1);
}

Layout lay_out(const Options& options, int ranks) {
    if (options.world > 0 && options.world != ranks) {
        throw UsageError(fmt::format("--world {}, but there are {} ranks", options.world, ranks));
    }
    Layout layout{options.dp, options.pp, options.tp};
    const std::array<int*, 3> axes{&layout.tp, &layout.pp, &layout.dp};
    int left = ranks;
    int open = 0;
    for (const int* axis : axes) {
        if (*axis == 0) {
            ++open;
        } else if (left % *axis == 0) {
            left /= *axis;
        } else {
            open = -1;  // the error below shows the whole product
            break;
        }
    }
    if (open < 0 || (open == 0 && left != 1)) {
        throw UsageError(does_not_fit(layout, ranks));
    }
    for (int* axis : axes) {
        if (*axis != 0) continue;
        if (open == 1) {
            *axis = left;
        } else {
            *axis = left % 2 == 0 ? 2 : 1;
        }
        left /= *axis;
        --open;
    }
    need_multiple("--intermediate", options.sizes.intermediate, "tp", layout.tp);
    need_multiple("--layers", options.sizes.layers, "pp", layout.pp);
    if (options.spoil_rank >= ranks) {
        throw UsageError(
            fmt::format("--spoil-rank {}, but there are {} ranks", options.spoil_rank, ranks));
    }
    return layout;
}

WorldOptions world_options(const Options& options) {
    WorldOptions result = WorldOptions::from_environment();
    if (options.timeout_seconds > 0) {
        result.timeout =
            std::chrono::ceil<Timeout>(std::chrono::duration<double>(options.timeout_seconds));
    }
    if (options.transport == "auto") result.transport = Transport::automatic;
    if (options.transport == "shm") result.transport = Transport::shm;
    if (options.transport == "tcp") result.transport = Transport::tcp;
    return result;
}

}  // namespace trireme::verify
