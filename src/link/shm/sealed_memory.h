#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/unique_fd.h"

namespace trireme::shm {

/// A memfd of `bytes` zeros: no file system shows it, and it goes when the last process that maps
/// it ends. Sealed, so that nobody who maps it is killed by a SIGBUS because another shrank it.
/// `name` is what /proc shows. Throws `Error(system)` where the kernel gives no such memory.
[[nodiscard]] UniqueFd make_sealed_memory(const char* name, std::size_t bytes);

/// Whether a descriptor is such memory, of so many bytes.
[[nodiscard]] bool is_sealed_memory(const UniqueFd& descriptor, std::size_t bytes) noexcept;

/// Where a process has a descriptor, for its peers on the same host to open.
struct DescriptorAddress {
    int pid = 0;
    int descriptor = -1;

    [[nodiscard]] std::string text() const;
    /// Nothing can be found at the address of a text that is none.
    [[nodiscard]] static DescriptorAddress parse(std::string_view text) noexcept;
    /// Anew, through /proc: the memory has no other name. None where there is no such process or
    /// descriptor any more, or where the system does not permit it.
    [[nodiscard]] UniqueFd open(bool writable) const;
};

}  // namespace trireme::shm
