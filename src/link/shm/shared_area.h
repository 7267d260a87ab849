#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "link/shm/inbox.h"

namespace trireme::shm {

/// Memory of one rank that others of its host map too: a part of what `Group::allocate` gives. Each
/// rank has one of these for its own memory, and one for each that it maps.
struct SharedArea {
    std::uint32_t number = 0;   ///< of the owner's areas; not used again
    std::uint64_t address = 0;  ///< where the owner has it
    std::size_t bytes = 0;
    Mapping memory;  ///< here

    /// Where it lies here what the owner has at an address; null where not all is in this area.
    [[nodiscard]] std::byte* find(std::uint64_t at, std::size_t length) const noexcept {
        if (at < address || at - address > bytes || length > bytes - (at - address)) return nullptr;
        return memory.data() + (at - address);
    }
};

}  // namespace trireme::shm
