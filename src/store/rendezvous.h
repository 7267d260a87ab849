#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trireme/store.h"

namespace trireme {

/// Where the ranks of a world have met.
struct Rendezvous {
    std::shared_ptr<Store> store;
    int rank = 0;
    int size = 1;
    std::shared_ptr<TcpStoreServer> server;  // where this rank hosts it, else null
    std::string host{};                      // where the store is; empty: on this host
    std::shared_ptr<Store> launcher{};       // all of the launcher's store, where that is it
    bool outlives_ranks = true;              // the store is held by none of them
};

/// Finds the store that the ranks share, and this rank's place among them.
///
///   env://             TRIREME_STORE=host:port, which `trireme run` sets and where the launcher
///                      hosts the store; else MASTER_ADDR and MASTER_PORT, where rank 0 hosts it
///   tcp://host:port    rank 0 hosts the store
///   file:///path       a file that all ranks see; for one job, whose worlds may follow each other
///                      in it. One that a broken start left behind is best deleted.
///
/// `rank` and `size` of -1 are taken from the URL's query (`?rank=0&world_size=2`), else from RANK
/// and WORLD_SIZE. What is missing or malformed is an `Error(invalid_argument)` at once that names
/// the variable, its value and what is expected; a port that is taken, a rank that was given
/// twice, a size that differs and a store that does not answer in time are `Error(rendezvous)`.
///
/// Where rank 0 hosts, it listens on the host that was named if that is one of its own addresses,
/// so that loopback stays loopback; on all its addresses where the name is a service's or a
/// router's, or means loopback on this host alone (as Debian's 127.0.1.1 does for the host's own
/// name). The server must outlive the last use by any rank. A rank that returns to the same port
/// while the server of the world before is still closing waits for the new one.
///
/// The store that is returned shows only this world's keys, also where another world of the same
/// size was or is made in the same store: each rank counts its worlds.
[[nodiscard]] Rendezvous rendezvous(std::string_view url, int rank, int size, Timeout timeout);

/// Waits until every rank has come. Throws `Error(rendezvous)` that says "1 of 2 ranks", names the
/// missing ones and carries them in `ranks()`. Rank 0 watches all, and tells the others.
void await_all(const Rendezvous& meeting, Timeout timeout);

}  // namespace trireme
