#pragma once

#include <nlohmann/json.hpp>

#include "bench_options.h"

namespace trireme::bench {

/// Measures all that was asked for, and prints it. Returns the report: see docs/benchmark.md.
/// `failed` tells that results were wrong, or that Trireme did not come through.
[[nodiscard]] nlohmann::json run_grid(const Options& options, bool& failed);

}  // namespace trireme::bench
