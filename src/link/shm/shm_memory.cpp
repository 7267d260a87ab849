#include "link/shm/shm_memory.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace trireme {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

// A lease lasts for a copy of 1 MiB, some 0.1 ms. Whoever holds one this long has been stopped, or
// is starved by a machine that swaps; the latter gets more time.
constexpr seconds stopped_after{2};
constexpr seconds stuck_after{20};

enum class Direction { read, write };

bool move(Direction direction, pid_t pid, std::uint64_t remote, std::byte* local,
          std::size_t bytes) noexcept {
    while (bytes > 0) {
        const iovec here{local, bytes};
        // The address is the peer's and means nothing here.
        const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(remote)), bytes};
        const ssize_t moved = direction == Direction::read
                                  ? ::process_vm_readv(pid, &here, 1, &there, 1, 0)
                                  : ::process_vm_writev(pid, &here, 1, &there, 1, 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0) return false;  // ESRCH: dead; EFAULT: unmapped; EPERM: no longer allowed
        remote += static_cast<std::uint64_t>(moved);
        local += moved;
        bytes -= static_cast<std::size_t>(moved);
    }
    return true;
}

}  // namespace

ShmMemory::ShmMemory(std::shared_ptr<ShmInbox> own, std::shared_ptr<ShmPeer> peer)
    : own_(std::move(own)), peer_(std::move(peer)), published_(own_->region(peer_->rank)) {
    free_slots_.reserve(shm::lease_slots);
    for (std::uint32_t slot = shm::lease_slots; slot-- > 0;) free_slots_.push_back(slot);
}

std::optional<RemoteBuffer> ShmMemory::publish(Bytes memory) noexcept {
    if (free_slots_.empty()) return std::nullopt;
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    std::uint32_t& generation = generations_[slot];
    if (++generation == 0) ++generation;  // 0 means closed
    published_.leases[slot].open.store(generation, std::memory_order_release);
    RemoteBuffer published{.address = reinterpret_cast<std::uintptr_t>(memory.data()),
                           .length = memory.size(),
                           .slot = slot,
                           .generation = generation};
    for (const auto& one : own_areas_) {
        const auto area = one.lock();
        if (area && area->find(published.address, memory.size()) != nullptr)
            published.area = area->number;
    }
    return published;
}

void ShmMemory::share(const std::weak_ptr<const shm::SharedArea>& own,
                      const std::weak_ptr<const shm::SharedArea>& theirs) {
    for (auto* areas : {&own_areas_, &peer_areas_})
        std::erase_if(*areas, [](const auto& area) { return area.expired(); });
    own_areas_.push_back(own);
    peer_areas_.push_back(theirs);
}

std::shared_ptr<std::byte> ShmMemory::find_shared(const RemoteBuffer& buffer, std::size_t offset,
                                                  std::size_t bytes) noexcept {
    if (buffer.area == 0) return nullptr;
    for (const auto& one : peer_areas_) {
        auto area = one.lock();
        if (!area || area->number != buffer.area) continue;
        std::byte* const here = area->find(buffer.address + offset, bytes);
        return here == nullptr ? nullptr : std::shared_ptr<std::byte>(std::move(area), here);
    }
    return nullptr;
}

HeldMemory ShmMemory::hold(const RemoteBuffer& buffer, std::size_t offset,
                           std::size_t bytes) noexcept {
    shm::Lease* const lease = lease_of(buffer, offset, bytes);
    if (lease == nullptr) return {};
    auto shared = find_shared(buffer, offset, bytes);
    if (!shared) return {};
    lease->busy.store(1, std::memory_order_seq_cst);
    HeldMemory held(std::move(shared), lease->busy);
    if (lease->open.load(std::memory_order_seq_cst) != buffer.generation) return {};
    return held;
}

// The exchange, and not a plain load, keeps this look behind what was read before.
bool ShmMemory::is_open(const RemoteBuffer& source) noexcept {
    shm::Lease* const lease = lease_of(source, 0, 0);
    if (lease == nullptr) return false;
    lease->busy.exchange(0, std::memory_order_seq_cst);
    return lease->open.load(std::memory_order_seq_cst) == source.generation;
}

// Either the peer, after it set `busy`, sees the lease closed, or the owner, after it closed the
// lease, sees `busy`: all four accesses are sequentially consistent.
void ShmMemory::withdraw(const RemoteBuffer& own) noexcept {
    if (own.generation == 0 || own.slot >= shm::lease_slots) return;
    shm::Lease& lease = published_.leases[own.slot];
    if (lease.open.load(std::memory_order_relaxed) != own.generation) return;
    lease.open.store(0, std::memory_order_seq_cst);
    wait_until_idle(lease);
    free_slots_.push_back(own.slot);
}

void ShmMemory::wait_until_idle(const shm::Lease& lease) noexcept {
    const auto busy = [&] { return lease.busy.load(std::memory_order_seq_cst) != 0; };
    for (int looks = 0; looks < 1000; ++looks) {
        if (!busy()) return;
    }
    const auto start = Clock::now();
    while (busy()) {
        sched_yield();
        shm::PeerProcess& process = peer_->process;
        if (process.same()) continue;  // it cannot be stopped without this thread
        if (process.ended()) return;
        const auto waited = Clock::now() - start;
        const bool stopped = waited > stopped_after && process.stopped();
        if (stopped || waited > stuck_after) {
            process.kill(fmt::format(
                "its process {} was {} while it wrote into memory that this rank had to take "
                "back, and has been killed",
                process.pid(), stopped ? "stopped" : "stuck"));
            return;
        }
    }
}

shm::Lease* ShmMemory::lease_of(const RemoteBuffer& buffer, std::size_t offset,
                                std::size_t bytes) noexcept {
    if (peer_->process.gone() || buffer.generation == 0 || buffer.slot >= shm::lease_slots) {
        return nullptr;
    }
    if (offset > buffer.length || bytes > buffer.length - offset) return nullptr;
    return &peer_->inbox.region().leases[buffer.slot];
}

bool ShmMemory::read(const RemoteBuffer& source, std::size_t offset, Bytes target) noexcept {
    shm::Lease* lease = lease_of(source, offset, target.size());
    if (lease == nullptr) return false;
    if (lease->open.load(std::memory_order_acquire) != source.generation) return false;
    if (const auto shared = find_shared(source, offset, target.size())) {
        std::memcpy(target.data(), shared.get(), target.size());
    } else if (!move(Direction::read, peer_->process.pid(), source.address + offset, target.data(),
                     target.size())) {
        return false;
    }
    return is_open(source);
}

bool ShmMemory::write(const RemoteBuffer& target, std::size_t offset, ConstBytes source) noexcept {
    shm::Lease* lease = lease_of(target, offset, source.size());
    if (lease == nullptr) return false;
    // The kernel only reads it.
    auto* from = const_cast<std::byte*>(source.data());
    const auto shared = find_shared(target, offset, source.size());
    for (std::size_t done = 0; done < source.size();) {
        const std::size_t bytes = std::min(source.size() - done, lease_bytes);
        lease->busy.store(1, std::memory_order_seq_cst);
        bool moved = lease->open.load(std::memory_order_seq_cst) == target.generation;
        if (moved && shared)
            std::memcpy(shared.get() + done, from + done, bytes);
        else if (moved)
            moved = move(Direction::write, peer_->process.pid(), target.address + offset + done,
                         from + done, bytes);
        lease->busy.store(0, std::memory_order_release);
        if (!moved) return false;
        done += bytes;
    }
    return true;
}

}  // namespace trireme
