#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "link/peer_memory.h"
#include "link/shm/inbox.h"
#include "link/wire.h"
#include "observe/recorder.h"
#include "trireme/store.h"
#include "trireme/world.h"

namespace trireme {

/// What connects a rank to one other.
struct Connection {
    std::unique_ptr<Wire> wire;
    std::unique_ptr<PeerMemory> memory;  ///< null where the peer's memory cannot be reached
};

/// What connects a rank to all.
struct Connections {
    std::vector<Connection> peers;  ///< by world rank; a rank's own is a `SelfWire`
    /// What the ranks of this host write to; its sleep flag is the one that they look at. Null
    /// where this rank does not use shared memory.
    std::shared_ptr<ShmInbox> inbox;
    std::vector<BoardAddress> boards;  ///< by world rank; none where the rank is alone
    std::vector<int> launched_as;      ///< as `boards`; -1: by no launcher
    shm::Token token{};                ///< of the world
};

/// Makes the ranks that are meeting in `store` fail, and says why: for one that will not come. `by`
/// is a rank of that world.
void fail_meeting(Store& store, int by, const std::string& reason);

/// Connects every rank of a world with every other.
///
/// **How.** Each rank listens on an abstract Unix socket with a random name and on a TCP port, and
/// puts both into the store. When all have done so, each connects to the ranks below it, one after
/// the other, and then accepts those above it: rank 0 accepts at once, so nobody waits in a circle.
/// A pair is on one host when the Unix socket answers: network namespaces scope it. Over it they
/// pass each other their inbox and their doorbell, and try whether they can map the one and read
/// each other's memory; host names and boot identifiers would not tell. Where that fails, the pair
/// uses TCP.
///
/// **Strangers.** Whoever connects over TCP must prove that it knows the world's key (`Greeting`),
/// or is dropped; a connection that stays silent blocks nobody and is dropped in time. The key
/// comes from the job's token and from an id that rank 0 has drawn and put into the store.
///
/// `store` holds the keys of this world only. `doorbell` is the eventfd that peers ring while this
/// rank sleeps; they get copies. `board` is where they may look at what this one does, and
/// `launched_as` the rank under which the launcher knows this process, or -1. `address` is
/// where peers on other hosts reach this one, unless `options.address` says otherwise. Throws
/// `Error(rendezvous)` that names the ranks that are missing, or the pair that cannot be connected
/// and why; `Error(system)` where descriptors run out. A rank that fails tells the others through
/// the store.
[[nodiscard]] Connections connect_all(Store& store, int rank, int size, const WorldOptions& options,
                                      int doorbell, const BoardAddress& board, int launched_as,
                                      std::chrono::steady_clock::time_point deadline,
                                      const std::string& address = "127.0.0.1");

/// The address by which this host reaches `host`; "127.0.0.1" where that is unknown. Where `host`
/// is a name that means loopback on this host alone, as Debian's 127.0.1.1 makes the host's own
/// name, it is the name: others know it otherwise.
[[nodiscard]] std::string local_address_towards(const std::string& host);

}  // namespace trireme
