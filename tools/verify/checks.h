#pragma once

#include <memory>

#include "trireme/mesh.h"
#include "trireme/world.h"
#include "verify/dense.h"
#include "verify/layers.h"
#include "verify/options.h"
#include "verify/report.h"

namespace trireme::verify {

/// Where a check runs, and where its results go.
struct Context {
    Sizes sizes;
    Group dp;
    Group pp;
    Group tp;
    bool spoil;  ///< this rank adds an error to its gradients
    std::shared_ptr<spdlog::logger> log;
    Report report;

    /// The layers of this rank's pipeline stage, out of all.
    template <class Layer>
    [[nodiscard]] std::vector<Layer> stage_of(const std::vector<Layer>& layers) const {
        const auto count = static_cast<std::ptrdiff_t>(layers.size()) / pp.size();
        const auto first = layers.begin() + pp.rank() * count;
        return {first, first + count};
    }

    /// Compares the gradients of layers with those of the dense ones; a split layer's with its
    /// rank's part of them.
    void expect_gradients(Comparison& comparison, const std::vector<Mlp>& actual,
                          const std::vector<Mlp>& dense) const;
    void expect_gradients(Comparison& comparison, const std::vector<ParallelMlp>& actual,
                          const std::vector<Mlp>& dense) const;
};

/// Each layer's matrices split over tp: forward, loss, and the gradients of every part.
void check_tensor_parallel(Context& context);
/// The layers split into stages over pp: forward, loss, and the gradients of every stage.
void check_pipeline(Context& context);
/// A different batch on each replica: loss and averaged gradients are those of all batches joined.
void check_data_parallel(Context& context);
/// All three at once.
void check_combined(Context& context);

}  // namespace trireme::verify
