#pragma once

namespace trireme::bench {

/// Runs Trireme as a contestant: a rank that the driver has started from this same program.
[[nodiscard]] int serve_ours();

}  // namespace trireme::bench
