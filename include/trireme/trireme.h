#pragma once

/// Everything but the torch part, which is in `trireme/torch.h`.

#include "trireme/error.h"
#include "trireme/group.h"
#include "trireme/mesh.h"
#include "trireme/store.h"
#include "trireme/world.h"
