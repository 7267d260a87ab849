#include "link/shm/shm_wire.h"

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace trireme {

void ShmPeer::ring() const noexcept {
    const std::uint64_t one = 1;
    // An eventfd refuses only when its count overflows, and then it is readable anyway.
    [[maybe_unused]] const ssize_t written = ::write(doorbell.get(), &one, sizeof(one));
}

ShmWire::ShmWire(std::shared_ptr<ShmInbox> own, std::shared_ptr<ShmPeer> peer)
    : own_(std::move(own)),
      peer_(std::move(peer)),
      incoming_(own_->region(peer_->rank)),
      reader_(incoming_),
      writer_(peer_->inbox.region()) {}

ShmWire::~ShmWire() { peer_->process.hang_up(); }

std::size_t ShmWire::write(ConstBytes head, ConstBytes body) noexcept {
    if (shut_) return 0;
    const std::size_t taken = writer_.write(head, body);
    const bool starved = taken < head.size() + body.size();
    if (starved != starved_) {
        // The reader looks at this after it has made room; who sleeps starved has set its sleep
        // flag afterwards, which orders both.
        peer_->inbox.region().starved.store(starved ? 1 : 0, std::memory_order_relaxed);
        starved_ = starved;
    }
    if (taken > 0) peer_->ring_if_asleep();
    return taken;
}

ConstBytes ShmWire::peek(std::size_t /*want*/) noexcept { return reader_.peek(); }

void ShmWire::consume(std::size_t bytes) noexcept {
    if (!reader_.consume(bytes)) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (incoming_.starved.load(std::memory_order_relaxed) != 0) peer_->ring_if_asleep();
}

bool ShmWire::closed() const noexcept {
    return reader_.broken() || (peer_->process.gone() && reader_.empty());
}

std::string ShmWire::close_reason() const {
    if (reader_.broken()) return "the shared memory holds what no rank writes";
    return peer_->process.story();
}

int ShmWire::descriptor() const noexcept { return peer_->process.descriptor(); }

void ShmWire::descriptor_ready() noexcept { peer_->process.look(); }

}  // namespace trireme
