#pragma once

#include "group/bootstrap_context.h"

namespace trireme::bootstrap {

/// Connects to a lower rank, in the best way that both allow.
[[nodiscard]] Connection connect_to(const Context& context, int peer);

}  // namespace trireme::bootstrap
