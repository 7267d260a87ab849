#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "link/envelope.h"
#include "link/sim/cost_model.h"
#include "link/wire.h"

namespace trireme {

struct SimEnd;

/// A frame between two simulated ranks: what a link wrote at once.
struct SimPacket {
    SimEnd* to = nullptr;
    std::array<std::byte, sizeof(Envelope) + sizeof(OfferBody)> head{};
    std::size_t head_bytes = 0;
    std::size_t payload_bytes = 0;
    std::vector<std::byte> payload;  ///< empty where payloads are phantoms
    SimTime transit{};               ///< how long it occupies a port
    int depth = 0;                   ///< the longest chain of messages that ends with it

    [[nodiscard]] std::size_t bytes() const noexcept { return head_bytes + payload_bytes; }
};

}  // namespace trireme
