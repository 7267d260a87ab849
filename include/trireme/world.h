#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/backend.h"
#include "trireme/group.h"
#include "trireme/group_options.h"
#include "trireme/mesh.h"
#include "trireme/store.h"

namespace trireme {

/// Which transports a world may use between two ranks.
enum class Transport {
    automatic,  ///< shared memory where the two ranks can reach each other's, else TCP
    shm,        ///< shared memory; an error where it cannot be had
    tcp,
};

/// Settings of a world; every one has a default, and `from_environment` reads them.
struct WorldOptions {
    /// How long an operation, and the start, may take: TRIREME_TIMEOUT, in seconds.
    Timeout timeout{600'000};
    /// How long an operation may wait before this rank warns, on standard error, and says for whom
    /// it waits and what they do instead: TRIREME_PATIENCE, in seconds.
    Timeout patience{10'000};
    /// A host that gives no sign of life for so long is taken for lost, and its ranks with it:
    /// TRIREME_HEARTBEAT, in seconds, 3 at least. A process that is only stopped is not.
    Timeout heartbeat{5'000};
    /// TRIREME_TRANSPORT: auto, shm or tcp.
    Transport transport = Transport::automatic;
    /// The address that peers on other hosts connect to: TRIREME_ADDRESS; empty: the one by which
    /// this rank reaches the store.
    std::string address;
    /// The network interface whose address that is, such as "eth0": TRIREME_INTERFACE. An address
    /// goes before it.
    std::string interface;
    /// Which algorithm runs an operation: TRIREME_ALGORITHM, such as "all_reduce:ring,..."; empty:
    /// the selection table decides.
    std::string algorithm;

    /// A folder in which the operations of all ranks are written down, for Perfetto to show:
    /// TRIREME_TRACE; empty: none. See docs/observing-trace.md.
    std::string trace;
    /// How many MiB of a trace a rank writes at most: TRIREME_TRACE_LIMIT.
    int trace_limit = 64;
    /// "host:port" at which this rank serves figures for Prometheus, under /metrics:
    /// TRIREME_METRICS; empty: nowhere. LOCAL_RANK is added to the port; 0: any that is free.
    std::string metrics;

    /// Reductions give the same bits on every rank, and for a given number of ranks the same bits
    /// whatever transport, placement and permitted algorithm is used: TRIREME_REPRODUCIBLE, 0 or 1.
    /// See docs/operations.md. Must be the same on all ranks.
    bool reproducible = false;

    /// The directory in which each rank writes a file of its last operations when it gets SIGUSR2,
    /// and when a group fails for the first time: TRIREME_DUMP. Empty: on SIGUSR2 only, in the
    /// current directory. See docs/observing.md.
    std::string dump;

    /// Finds programs that touch the buffers of started operations before their end: such a `Work`
    /// fails, with `invalid_argument`, and what is read too early is NaN. Slow, for debugging; not
    /// for strided tensors: TRIREME_CHECK_BUFFERS, 0 or 1.
    bool check_buffers = false;

    /// Backends of one's own, by name: see `GroupOptions::backend`.
    std::map<std::string, BackendFactory> backends;

    /// The defaults, changed by the variables above; throws `invalid_argument` naming variable and
    /// value.
    [[nodiscard]] static WorldOptions from_environment();
};

class WorldState;

/// The processes that found one another, and what groups are made from.
///
/// A value, nothing is global: one process may hold many worlds with different ranks and sizes.
/// Destroying the last copy leaves the world; peers that still wait for this rank then get an
/// error that says so. A moved-from one is empty. Counterpart: init_process_group, MPI_Init.
class World {
public:
    /// The world that `trireme run`, or RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, describe.
    /// Throws `Error` at once for a missing or malformed variable, naming it and its value.
    [[nodiscard]] static World from_env(
        const WorldOptions& options = WorldOptions::from_environment());

    /// As `from_env`, from "env://", "tcp://host:port" (rank 0 holds the store there) or
    /// "file:///path". Rank and size come from the arguments, from the query
    /// ("tcp://host:29500?rank=1&world_size=4"), or from RANK and WORLD_SIZE.
    [[nodiscard]] static World connect(
        std::string_view url, int rank = -1, int size = -1,
        const WorldOptions& options = WorldOptions::from_environment());

    /// The world of `size` ranks that meet in `store`.
    [[nodiscard]] static World create(
        std::shared_ptr<Store> store, int rank, int size,
        const WorldOptions& options = WorldOptions::from_environment());

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    [[nodiscard]] Store& store() const noexcept;

    /// The group of all ranks; the same one each time.
    [[nodiscard]] Group group() const;

    /// A new group of these world ranks, in this order. Only members need call it, and members may
    /// make their groups in any order as long as those with the same members are made in the same
    /// order; on a non-member it returns a group whose `is_member()` is false. Does not wait for
    /// ranks above the lowest member. Throws for an empty list, a repeated or unknown rank.
    [[nodiscard]] Group group(const std::vector<int>& ranks, GroupOptions options = {}) const;

    /// Lays all ranks out as a box: see `Mesh`. Throws, with both numbers, where the axes' product
    /// is not the size of the world.
    [[nodiscard]] Mesh mesh(std::vector<Axis> axes) const;

    /// Fails every group of this world on all its members: calls in flight, this process's and the
    /// peers', end with `ErrorCode::aborted` and `reason`. For a rank that cannot go on: called
    /// where its exception is caught, it lets the peers say why. Callable from any thread.
    /// MPI_Abort.
    void abort(const std::string& reason) const;

    /// A new world of those ranks of this one that still live and call this, in their order; this
    /// one stays as it is. All of them agree on who belongs to it, also when another one dies
    /// meanwhile. Waits until each rank of this world has called or is gone, for `timeout` at most
    /// (0: the world's); ranks that call later are excluded. Throws `Error`: `aborted` on a rank
    /// that is excluded, `rendezvous` where those that live cannot connect, `unsupported` where one
    /// of the ranks holds the store (MASTER_ADDR, "tcp://"), which would be lost with it.
    /// MPIX_Comm_shrink.
    [[nodiscard]] World shrink(Timeout timeout = Timeout{0}) const;

    /// What carries data to a rank: "shm", "tcp" or "self".
    [[nodiscard]] std::string_view transport(int rank) const;

private:
    explicit World(const std::shared_ptr<WorldState>& state);

    std::shared_ptr<WorldState> state_;
    std::shared_ptr<GroupState> group_;
};

}  // namespace trireme
