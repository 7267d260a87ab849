#pragma once

#include <vector>

#include "group/bootstrap_context.h"

namespace trireme::bootstrap {

/// Accepts the higher ranks and fills their places in `peers`. Either listener may be none.
void accept_higher(const Context& context, const UniqueFd& unix_listener,
                   const UniqueFd& tcp_listener, std::vector<Connection>& peers);

}  // namespace trireme::bootstrap
