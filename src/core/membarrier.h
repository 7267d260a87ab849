#pragma once

namespace trireme {

/// Lets other processes' `membarrier_all` reach this one; false where the kernel has none.
[[nodiscard]] bool register_for_membarrier() noexcept;

/// A full memory barrier on every processor that runs a registered process. The rare side of an
/// asymmetric pair pays it, so that the frequent side needs no fence.
void membarrier_all() noexcept;

}  // namespace trireme
