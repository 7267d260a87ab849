#pragma once

#include <utility>

#include "core/unique_fd.h"
#include "link/shm/inbox.h"
#include "link/shm/peer_process.h"

namespace trireme {

/// What a rank has of a peer on the same host; shared by the wire and the memory verbs.
struct ShmPeer {
    int rank;
    shm::PeerInbox inbox;
    shm::PeerProcess process;
    UniqueFd doorbell;

    /// Wakes the peer if it sleeps. To be called after the store that it shall see; the sleeper's
    /// membarrier, after it set its flag, stands in for a fence between that store and this load.
    void ring_if_asleep() const noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order too
        if (inbox.sleeping().load(std::memory_order_relaxed) != 0) ring();
    }
    void ring() const noexcept;
};

}  // namespace trireme
