#include "link/shm/inbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "link/shm/sealed_memory.h"
#include "trireme/error.h"

namespace trireme {

namespace shm {

Mapping::Mapping(int descriptor, std::size_t offset, std::size_t bytes, bool writable) noexcept
    : bytes_(bytes) {
    const int access = PROT_READ | (writable ? PROT_WRITE : 0);
    void* data = ::mmap(nullptr, bytes, access, MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (data != MAP_FAILED) data_ = static_cast<std::byte*>(data);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
}

PeerInbox::PeerInbox(const UniqueFd& descriptor, int rank, int ranks, const Token& token,
                     std::string& problem) {
    const std::string found = map(descriptor.get(), rank, ranks, token);
    valid_ = found.empty();
    if (!valid_) problem = found;
}

std::string PeerInbox::map(int descriptor, int rank, int ranks, const Token& token) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) {
        return fmt::format("its memory has no size: {}", std::strerror(errno));
    }
    const std::size_t bytes = region_offset(static_cast<std::size_t>(ranks));
    if (static_cast<std::size_t>(status.st_size) != bytes) {
        return fmt::format("its memory has {} bytes instead of {}: another version of Trireme?",
                           status.st_size, bytes);
    }
    if ((::fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK) == 0) return "its memory is not sealed";

    header_ = Mapping(descriptor, 0, header_bytes, false);
    region_ =
        Mapping(descriptor, region_offset(static_cast<std::size_t>(rank)), region_bytes, true);
    if (!header_ || !region_) {
        return fmt::format("its memory cannot be mapped: {}", std::strerror(errno));
    }
    const auto& facts = *reinterpret_cast<const Header*>(header_.data());
    if (facts.magic != inbox_magic || facts.version != layout_version ||
        facts.ranks != static_cast<std::uint32_t>(ranks)) {
        return "its memory is laid out otherwise: another version of Trireme?";
    }
    if (facts.token != token) return "its memory belongs to another world";
    return {};
}

}  // namespace shm

ShmInbox::ShmInbox(int ranks) {
    const std::size_t bytes = shm::region_offset(static_cast<std::size_t>(ranks));
    descriptor_ = shm::make_sealed_memory("trireme-inbox", bytes);
    mapping_ = shm::Mapping(descriptor(), 0, bytes, true);
    if (!mapping_)
        throw Error(ErrorCode::system, fmt::format("cannot map {} KiB of shared memory: {}",
                                                   bytes / 1024, std::strerror(errno)));

    auto* facts = new (mapping_.data()) shm::Header;
    facts->ranks = static_cast<std::uint32_t>(ranks);
    // The regions are zeros already, which is their initial state; touching them would cost pages.
}

shm::Region& ShmInbox::region(int rank) noexcept {
    return *reinterpret_cast<shm::Region*>(mapping_.data() +
                                           shm::region_offset(static_cast<std::size_t>(rank)));
}

std::uint64_t ShmInbox::token_address() noexcept {
    return reinterpret_cast<std::uintptr_t>(header().token.data());
}

}  // namespace trireme
