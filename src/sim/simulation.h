#pragma once

#include <cstddef>
#include <string>

#include "algorithm/select.h"
#include "link/sim/cost_model.h"

namespace trireme {

/// One operation to be simulated: sum, root 0.
struct SimulationPlan {
    const Algorithm* algorithm = nullptr;
    Dtype dtype = Dtype::float32;  ///< or int64
    int ranks = 1;
    int hosts = 1;          ///< on which the ranks are placed in blocks; no more than ranks count
    std::size_t bytes = 0;  ///< of the longer side of the operation; see `simulated_bytes`
    CostModel costs{};
    bool real = false;                                ///< move real data, and check the results
    bool in_place = false;                            ///< where the operation can be
    std::size_t memory_limit = std::size_t{4} << 30;  ///< of the links, roughly
};

/// What became of it.
struct SimulationResult {
    std::size_t bytes = 0;  ///< of the longer side
    SimTime time{};         ///< until the last rank had ended
    int steps = 0;          ///< the longest chain of messages of which each needs the one before
    std::size_t most_bytes = 0;  ///< of payload that one rank sent
    double mean_bytes = 0;
    std::size_t bytes_between_hosts = 0;  ///< of all ranks
    std::size_t most_messages = 0;        ///< that one rank sent
    std::size_t links = 0;
    std::size_t memory = 0;  ///< that the simulation had allocated at its end; 0: not known
    std::string wrong;       ///< with `real`: the first wrong value; empty where all are right
};

/// Runs the algorithm's coroutine on all ranks, in virtual time. Throws `Error`: `unsupported`
/// where the algorithm needs more links than the memory limit allows, and whatever a rank fails
/// with.
[[nodiscard]] SimulationResult simulate(const SimulationPlan& plan);

/// `bytes`, rounded up to whole elements, of which each rank's part has equally many.
[[nodiscard]] std::size_t simulated_bytes(OpKind kind, int ranks, std::size_t bytes,
                                          Dtype dtype = Dtype::float32) noexcept;

/// Why an algorithm cannot be simulated so; empty where it can.
[[nodiscard]] std::string obstacle_to_simulation(const Algorithm& algorithm, int ranks, int hosts);

/// The algorithm that the selection table chooses there. Ranks of one host reach each other's
/// memory.
[[nodiscard]] const Algorithm& table_choice(OpKind kind, int ranks, int hosts, std::size_t bytes);

}  // namespace trireme
