#pragma once

#include <cstdint>

namespace trireme {

/// The bytes of memory that this host has: what needs more can only be a mistake.
[[nodiscard]] std::uint64_t host_memory() noexcept;

}  // namespace trireme
