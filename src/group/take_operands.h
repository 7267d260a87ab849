#pragma once

#include "core/op_info.h"
#include "trireme/op.h"
#include "trireme/operand.h"

namespace trireme {

/// Points `op` at its operands; either may be null. Without `in`, an operation whose input and
/// output are alike works in place.
inline void take_operands(Op& op, const Operand* in, const Operand* out) noexcept {
    if (out != nullptr) {
        op.out = out->buffers();
        op.out_is_list = out->is_list;
    }
    if (in != nullptr) {
        op.in = in->buffers();
        op.in_is_list = in->is_list;
    } else if (info(op.kind).shape == Shape::same) {
        op.in = op.out;
        op.in_is_list = op.out_is_list;
    }
}

}  // namespace trireme
