#pragma once

#include <torch/torch.h>

#include <functional>

#include "support/ranks.h"
#include "trireme/group.h"
#include "trireme/world.h"

namespace trireme {

/// Runs `body` on each of `size` ranks, with the group of all; torch uses one thread in each.
inline void on_ranks(int size, const std::function<void(const Group&)>& body) {
    at::set_num_threads(1);
    run_ranks(size, [&](World& world) { body(world.group()); });
}

}  // namespace trireme
