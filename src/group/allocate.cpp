#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/host_memory.h"
#include "group/coalescing.h"
#include "group/group_state.h"
#include "group/world_state.h"
#include "link/link.h"
#include "link/peer_memory.h"
#include "link/shm/sealed_memory.h"
#include "link/shm/shared_area.h"
#include "trireme/group.h"

namespace trireme::detail {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Numbers the parts that this process has made, whatever their world.
std::atomic<std::uint32_t> areas = 0;

// What a rank tells the others of its part.
struct Part {
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    std::int32_t pid = 0;
    std::int32_t descriptor = -1;
    std::uint32_t number = 0;
    std::int32_t error = 0;  // an errno: there is no memory
};
using PartBytes = std::array<std::byte, sizeof(Part)>;

// What a rank's `SharedBuffer` keeps: its own part, and those of others that it maps.
struct Shares {
    std::shared_ptr<const shm::SharedArea> own;
    std::vector<std::shared_ptr<const shm::SharedArea>> peers;
};

std::size_t rounded(std::size_t bytes) noexcept {
    const std::size_t unit =
        bytes >= huge_page ? huge_page : static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + unit - 1) / unit * unit;
}

std::shared_ptr<shm::SharedArea> map(const UniqueFd& memory, const Part& part) {
    auto area = std::make_shared<shm::SharedArea>();
    area->number = part.number;
    area->bytes = static_cast<std::size_t>(part.bytes);
    area->memory = shm::Mapping(memory.get(), 0, area->bytes, true);
    if (!area->memory) return nullptr;
    // Of use where the system gives huge pages to shared memory that asks; else nothing is lost.
    if (area->bytes >= huge_page)
        static_cast<void>(::madvise(area->memory.data(), area->bytes, MADV_HUGEPAGE));
    area->address =
        part.address != 0 ? part.address : reinterpret_cast<std::uintptr_t>(area->memory.data());
    return area;
}

std::shared_ptr<shm::SharedArea> make_own(Part& part, UniqueFd& memory) {
    std::shared_ptr<shm::SharedArea> area;
    // The kernel would give it, and kill who uses all of it.
    if (part.bytes > host_memory()) {
        part.error = ENOMEM;
        return area;
    }
    try {
        memory = shm::make_sealed_memory("trireme-shared", static_cast<std::size_t>(part.bytes));
        area = map(memory, part);
        if (!area) part.error = errno;
    } catch (const Error&) {
        part.error = errno != 0 ? errno : ENOMEM;
    }
    if (area) part.address = area->address;
    part.descriptor = memory.get();
    return area;
}

// All ranks see the same parts, so all throw, or none.
void refuse(const std::vector<Part>& parts, const Group& group, Site site) {
    const auto text = [&](const std::string& what) {
        std::string_view file = site.file_name();
        file.remove_prefix(file.find_last_of('/') + 1);
        return fmt::format("allocate on group \"{}\" ({}:{}): {}", group.name(), file, site.line(),
                           what);
    };
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        const int world_rank = group.ranks()[rank];
        if (parts[rank].bytes != parts[0].bytes)
            throw Error(
                ErrorCode::invalid_argument,
                text(fmt::format("rank {} asks for {} bytes, rank {} for {}; all members "
                                 "must ask for the same",
                                 group.ranks()[0], parts[0].bytes, world_rank, parts[rank].bytes)),
                {world_rank});
        if (parts[rank].error != 0)
            throw Error(
                ErrorCode::system,
                text(fmt::format("rank {} gets no {} bytes of shared memory: {}", world_rank,
                                 parts[rank].bytes, std::strerror(parts[rank].error))),
                {world_rank});
    }
}

}  // namespace

// Each rank makes a memory for its own part and tells the others where it is; those of its host map
// it. From then on a buffer that this rank publishes says of itself in which part it lies, and the
// peer reads and writes it there instead of through the kernel.
std::shared_ptr<std::byte> allocate_shared(const Group& group, std::size_t bytes, Site site) {
    refuse_in_coalesce(group, "allocate");
    GroupState& state = *group.state();
    Part part{.bytes = bytes <= SIZE_MAX / 2 ? rounded(std::max<std::size_t>(bytes, 1)) : bytes,
              .pid = ::getpid(),
              .number = ++areas};
    UniqueFd memory;
    const auto shares = std::make_shared<Shares>();
    const auto own = make_own(part, memory);
    shares->own = own;

    std::vector<PartBytes> told(static_cast<std::size_t>(group.size()));
    const auto mine = std::bit_cast<PartBytes>(part);
    group.all_gather(mine, std::span(told.front().data(), told.size() * sizeof(Part)), site);
    std::vector<Part> parts;
    for (const PartBytes& one : told) parts.push_back(std::bit_cast<Part>(one));
    refuse(parts, group, site);

    for (int rank = 0; rank < group.size() && state.backend() == nullptr; ++rank) {
        if (rank == group.rank()) continue;
        const Part& theirs = parts[static_cast<std::size_t>(rank)];
        PeerMemory* const reach = state.place().links[static_cast<std::size_t>(rank)]->memory();
        if (reach == nullptr) continue;
        const UniqueFd there = shm::DescriptorAddress{theirs.pid, theirs.descriptor}.open(true);
        if (!shm::is_sealed_memory(there, static_cast<std::size_t>(theirs.bytes))) continue;
        const auto area = map(there, theirs);
        if (!area) continue;
        shares->peers.push_back(area);
        const Engine::Turn turn(state.engine());
        reach->share(own, area);
    }
    // Until all have mapped it the memory must be found.
    group.barrier(site);
    return {shares, own->memory.data()};
}

}  // namespace trireme::detail
