#pragma once

#include <memory>

#include "link/shm/inbox.h"
#include "link/shm/ring.h"
#include "link/shm/shm_peer.h"
#include "link/wire.h"

namespace trireme {

/// The wire between two ranks of one host: a ring in each one's inbox.
class ShmWire final : public Wire {
public:
    ShmWire(std::shared_ptr<ShmInbox> own, std::shared_ptr<ShmPeer> peer);
    ~ShmWire() override;

    [[nodiscard]] std::string_view transport() const noexcept override { return "shm"; }
    /// Above this a read of the peer's memory, a system call and two short messages, should cost
    /// less than copying twice; and a few such messages fit into the ring.
    [[nodiscard]] std::size_t eager_limit() const noexcept override { return 8 << 10; }
    [[nodiscard]] std::size_t write(ConstBytes head, ConstBytes body) noexcept override;
    [[nodiscard]] ConstBytes peek(std::size_t want) noexcept override;
    void consume(std::size_t bytes) noexcept override;
    [[nodiscard]] bool closed() const noexcept override;
    [[nodiscard]] std::string close_reason() const override;
    [[nodiscard]] int descriptor() const noexcept override;
    [[nodiscard]] bool in_memory() const noexcept override { return true; }
    void descriptor_ready() noexcept override;
    void wake() noexcept override { peer_->ring_if_asleep(); }
    void shut_down() noexcept override { shut_ = true; }

private:
    std::shared_ptr<ShmInbox> own_;  // keeps the incoming region mapped
    std::shared_ptr<ShmPeer> peer_;
    shm::Region& incoming_;
    shm::RingReader reader_;
    shm::RingWriter writer_;
    bool starved_ = false;
    bool shut_ = false;
};

}  // namespace trireme
