#pragma once

#include "trireme/op.h"

namespace trireme {

class GroupState;

/// Refuses a call that cannot be right, before a byte is sent: throws `invalid_argument` or
/// `unsupported`, naming operation, group and values.
void validate(const Op& op, const GroupState& group);

}  // namespace trireme
