#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "trireme/world.h"

namespace trireme::verify {

/// A command line that asks for something impossible; the program ends with exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How many ranks lie along each axis of the mesh.
struct Layout {
    int dp = 1;
    int pp = 1;
    int tp = 1;
    [[nodiscard]] int ranks() const noexcept { return dp * pp * tp; }
};

/// The sizes of the model and its data.
struct Sizes {
    std::int64_t hidden = 32;
    std::int64_t intermediate = 64;
    std::int64_t batch = 8;
    std::int64_t sequence = 16;
    std::int64_t layers = 4;
    std::int64_t micro_batches = 0;  ///< 0 on the command line: 4 if the batch allows it
};

/// What the command line says; 0 and "" stand for what it leaves open.
struct Options {
    int tp = 0;
    int pp = 0;
    int dp = 0;
    int world = 0;
    Sizes sizes;
    std::string transport;
    double timeout_seconds = 0;
    int spoil_rank = -1;
    std::string log_dir;
    std::string json;
};

/// Reads the command line. Empty where the program has nothing more to do (`--help`); throws
/// `UsageError`.
[[nodiscard]] std::optional<Options> parse(int argc, char** argv);

/// How many ranks to start: --world; else the product of the axes that are given, if any; else 8.
[[nodiscard]] int ranks_to_start(const Options& options);

/// Lays `ranks` ranks out. An axis that is not given takes 2 if that divides what is left, first
/// tp, then pp; the last one open takes all that is left. Throws `UsageError`, with the numbers at
/// fault, where ranks or sizes do not divide.
[[nodiscard]] Layout lay_out(const Options& options, int ranks);

/// The environment's settings, changed by the command line.
[[nodiscard]] WorldOptions world_options(const Options& options);

}  // namespace trireme::verify
