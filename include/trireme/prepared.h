#pragma once

#include <memory>

#include "trireme/types.h"

namespace trireme {

class Execution;

/// An operation that was prepared once, to be started many times on the same buffers: checked, and
/// its algorithm chosen, once. Starting it allocates nothing. Every rank prepares and starts it in
/// step, among the group's other calls. Counterpart: MPI_Allreduce_init, MPI_Start.
///
///     auto step = group.prepare_all_reduce(gradients, avg);
///     for (...) { ...; step.start(); ...; step.wait(); }
///
/// The buffers must outlast it and must not be touched while it runs. Its destructor waits for a
/// run under way. Not for use by several threads at once.
class Prepared {
public:
    Prepared() noexcept = default;
    explicit Prepared(std::shared_ptr<Execution> execution) noexcept;
    Prepared(Prepared&&) noexcept;
    Prepared& operator=(Prepared&&) noexcept;
    ~Prepared();

    /// Starts it; throws `invalid_argument` where the run before has not been waited for, and where
    /// there is nothing to start: after a move.
    void start();
    /// Blocks until the run has ended; throws its `Error`. Does nothing if none was started.
    void wait();
    /// Whether no run is under way; does not block.
    [[nodiscard]] bool done() const noexcept;

private:
    void finish() noexcept;

    std::shared_ptr<Execution> execution_;
    bool started_ = false;
};

}  // namespace trireme
