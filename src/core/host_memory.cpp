#include "core/host_memory.h"

#include <unistd.h>

namespace trireme {

std::uint64_t host_memory() noexcept {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace trireme
