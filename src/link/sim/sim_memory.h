#pragma once

#include <vector>

#include "link/peer_memory.h"

namespace trireme {

class SimNetwork;
struct SimEnd;

/// The memory of a simulated rank on the same host. Whoever reads or writes it moves the bytes with
/// its own processor, which is busy for a latency and for their length.
///
/// Phantoms have no memory, and what a rank says of it does not arrive: then all accesses succeed,
/// and only their time passes.
class SimMemory final : public PeerMemory {
public:
    SimMemory(SimNetwork& network, SimEnd& peer) noexcept : network_(network), peer_(peer) {}

    [[nodiscard]] bool carries_messages() const noexcept override { return false; }
    [[nodiscard]] std::optional<RemoteBuffer> publish(Bytes memory) noexcept override;
    void withdraw(const RemoteBuffer& own) noexcept override;
    [[nodiscard]] bool read(const RemoteBuffer& source, std::size_t offset,
                            Bytes target) noexcept override;
    [[nodiscard]] bool write(const RemoteBuffer& target, std::size_t offset,
                             ConstBytes source) noexcept override;

private:
    [[nodiscard]] std::byte* reach(const RemoteBuffer& buffer, std::size_t offset,
                                   std::size_t bytes) noexcept;

    SimNetwork& network_;
    SimEnd& peer_;
    std::vector<RemoteBuffer> open_;  // of this rank, for the peer
    std::uint32_t generation_ = 0;
};

}  // namespace trireme
