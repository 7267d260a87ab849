#include "link/shm/sealed_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "trireme/error.h"

namespace trireme::shm {

namespace {

// Newer than the headers of glibc 2.36; says that the memory will never be executed.
constexpr unsigned mfd_noexec_seal = 0x8;

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

int create_memory(const char* name) noexcept {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int fd = ::memfd_create(name, flags | mfd_noexec_seal);
    return fd < 0 && errno == EINVAL ? ::memfd_create(name, flags) : fd;
}

}  // namespace

UniqueFd make_sealed_memory(const char* name, std::size_t bytes) {
    UniqueFd memory(create_memory(name));
    const char* failed = nullptr;
    if (!memory)
        failed = "memfd_create";
    else if (::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0)
        failed = "ftruncate";
    else if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0)
        failed = "F_ADD_SEALS";
    if (failed != nullptr)
        throw Error(ErrorCode::system,
                    fmt::format("cannot make {} KiB of shared memory ({}): {}: {}", bytes / 1024,
                                name, failed, std::strerror(errno)));
    return memory;
}

bool is_sealed_memory(const UniqueFd& descriptor, std::size_t bytes) noexcept {
    struct stat status{};
    return descriptor && ::fstat(descriptor.get(), &status) == 0 &&
           status.st_size == static_cast<off_t>(bytes) &&
           (::fcntl(descriptor.get(), F_GET_SEALS) & F_SEAL_SHRINK) != 0;
}

std::string DescriptorAddress::text() const { return fmt::format("{}:{}", pid, descriptor); }

DescriptorAddress DescriptorAddress::parse(std::string_view text) noexcept {
    DescriptorAddress address;
    const char* const end = text.data() + text.size();
    const auto [colon, error] = std::from_chars(text.data(), end, address.pid);
    if (error != std::errc{} || colon == end || *colon != ':') return {};
    const auto rest = std::from_chars(colon + 1, end, address.descriptor);
    return rest.ec == std::errc{} && rest.ptr == end ? address : DescriptorAddress{};
}

UniqueFd DescriptorAddress::open(bool writable) const {
    if (pid <= 0 || descriptor < 0) return {};
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
    const int access = writable ? O_RDWR : O_RDONLY;
    return UniqueFd(::open(path.c_str(), access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

}  // namespace trireme::shm
