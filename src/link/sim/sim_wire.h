#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "link/sim/sim_packet.h"
#include "link/wire.h"

namespace trireme {

class SimNetwork;

/// One end of a simulated wire. It takes whatever it is given, for the network's ports do the
/// queueing, and shows one packet at a time: the one that the network has just delivered.
///
/// It also keeps the account of depths. A message is one deeper than the deepest that its sender
/// had taken up when it started to send; a rank takes a message up when it has come and a receive
/// is there for it. Only payloads count, not the answers that a long message needs.
class SimWire final : public Wire {
public:
    SimWire(SimNetwork& network, SimEnd& own, SimEnd& peer, std::size_t eager_limit) noexcept
        : network_(network), own_(own), peer_(peer), eager_limit_(eager_limit) {}

    [[nodiscard]] std::string_view transport() const noexcept override { return "sim"; }
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return eager_limit_; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override;
    [[nodiscard]] ConstBytes peek(std::size_t want) noexcept override;
    void consume(std::size_t bytes) noexcept override { consumed_ += bytes; }
    [[nodiscard]] std::size_t read(Bytes target) noexcept override;
    [[nodiscard]] bool closed() const noexcept override { return false; }
    /// Said so that no engine looks at it: the network does when something has arrived.
    [[nodiscard]] bool in_memory() const noexcept override { return false; }
    [[nodiscard]] bool phantom() const noexcept override;

    // --- For the network -----------------------------------------------------------------------

    /// Shows `packet` from here on.
    void show(const SimPacket& packet) noexcept;
    /// Shows nothing again; returns whether all of the packet was consumed.
    [[nodiscard]] bool hide() noexcept;

    /// A message came that no receive waits for.
    void came_unexpected(const Envelope& envelope);
    /// ... and has been taken up: its depth.
    [[nodiscard]] int taken_up(const Envelope& envelope) noexcept;
    /// What the packet shown makes the depth of its receiver; 0 where it brought nothing for it.
    [[nodiscard]] int depth_taken_up() const noexcept;

private:
    // A long message on its way out: its depth is that of its offer.
    struct Offered {
        std::uint32_t number = 0;       // by which the sender knows it
        std::uint32_t peer_number = 0;  // ... and the receiver, once it has answered
        std::size_t left = 0;
        int depth = 0;
    };
    // A short message that came before its receive.
    struct Early {
        Key key;
        int depth = 0;
    };

    [[nodiscard]] int depth_of(const Envelope& envelope, ConstBytes head, std::size_t payload);
    [[nodiscard]] static Envelope envelope_of(ConstBytes head) noexcept;

    SimNetwork& network_;
    SimEnd& own_;
    SimEnd& peer_;
    std::size_t eager_limit_;
    const SimPacket* shown_ = nullptr;
    std::size_t consumed_ = 0;
    bool unexpected_ = false;
    std::vector<Offered> offered_;
    std::vector<Early> early_;
};

}  // namespace trireme
