#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/op.h"

namespace trireme {

/// Lets a started operation run on copies of its buffers, so that whatever is done to the user's
/// before its end shows: TRIREME_CHECK_BUFFERS.
///
/// Until then an output that is no input as well holds bytes of ones, which are NaN as floating
/// point: who reads it too early sees that. Who writes to it, or to an input, is told at the end.
class Shadow {
public:
    /// Points `op` at the copies; leaves it alone where an input and an output overlap in part.
    explicit Shadow(Op& op);

    /// The operation has ended: gives the user the outputs. What was written meanwhile, for an
    /// error; empty: nothing.
    [[nodiscard]] std::string finish();

private:
    using Memory = std::vector<std::byte>;
    struct Piece {
        Buffer user;
        Memory copy;
        Memory before;  ///< of an output: what the user's memory is to hold until the end
    };

    [[nodiscard]] Piece* piece_with(const Buffer& buffer);
    [[nodiscard]] bool overlaps_outputs(const Buffer& buffer) const;

    std::vector<Piece> outputs_;
    std::vector<Piece> inputs_;
    std::vector<Buffer> out_;  // for the operation
    std::vector<Buffer> in_;
};

}  // namespace trireme
