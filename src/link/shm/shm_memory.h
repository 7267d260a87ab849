#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "link/peer_memory.h"
#include "link/shm/inbox.h"
#include "link/shm/shared_area.h"
#include "link/shm/shm_peer.h"

namespace trireme {

/// The memory of a process on the same host, through the kernel (process_vm_readv and _writev), or,
/// where both map it, in place.
///
/// Writes follow the lease protocol of `PeerMemory`. Reads take no lease, so that a reader that is
/// slow or stopped never holds up the owner: they look before and after whether the publication is
/// open, and what was read while it was being withdrawn is not used. Memory that the owner has
/// given back meanwhile makes the kernel refuse, not the process crash; for that reason ranks that
/// are threads of one process go through the kernel, too.
class ShmMemory final : public PeerMemory {
public:
    ShmMemory(std::shared_ptr<ShmInbox> own, std::shared_ptr<ShmPeer> peer);

    [[nodiscard]] std::optional<RemoteBuffer> publish(Bytes memory) noexcept override;
    void withdraw(const RemoteBuffer& own) noexcept override;
    [[nodiscard]] bool read(const RemoteBuffer& source, std::size_t offset,
                            Bytes target) noexcept override;
    [[nodiscard]] bool write(const RemoteBuffer& target, std::size_t offset,
                             ConstBytes source) noexcept override;

    void share(const std::weak_ptr<const shm::SharedArea>& own,
               const std::weak_ptr<const shm::SharedArea>& theirs) override;
    [[nodiscard]] HeldMemory hold(const RemoteBuffer& buffer, std::size_t offset,
                                  std::size_t bytes) noexcept override;

private:
    [[nodiscard]] bool is_open(const RemoteBuffer& source) noexcept;
    [[nodiscard]] std::shared_ptr<std::byte> find_shared(const RemoteBuffer& buffer,
                                                         std::size_t offset,
                                                         std::size_t bytes) noexcept;
    [[nodiscard]] shm::Lease* lease_of(const RemoteBuffer& buffer, std::size_t offset,
                                       std::size_t bytes) noexcept;
    void wait_until_idle(const shm::Lease& lease) noexcept;

    std::shared_ptr<ShmInbox> own_;
    std::shared_ptr<ShmPeer> peer_;
    shm::Region& published_;  // where this rank opens leases for the peer
    std::array<std::uint32_t, shm::lease_slots> generations_{};
    std::vector<std::uint32_t> free_slots_;
    std::vector<std::weak_ptr<const shm::SharedArea>> own_areas_;  // that the peer maps
    std::vector<std::weak_ptr<const shm::SharedArea>> peer_areas_;
};

}  // namespace trireme
