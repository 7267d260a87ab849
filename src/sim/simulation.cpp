#include "sim/simulation.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/op_record.h"
#include "link/sim/sim_network.h"
#include "sim/sim_data.h"

namespace trireme {

namespace {

// A link, its wire, and the transfers of a rank that waits for all others at once, as measured.
constexpr std::size_t bytes_per_link = 900;

std::size_t allocated_bytes() noexcept {
#if defined(__GLIBC__)
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
#else
    return 0;
#endif
}

// One rank's part of the operation.
class RankRun final : public Completion, public MessageOwner, public LinkSource {
public:
    RankRun(SimNetwork& network, int rank, const Op& op, std::span<const int> hosts)
        : network_(network), op_(op) {
        place_ = {.rank = rank,
                  .size = network.size(),
                  .links = {},
                  .source = this,
                  .hosts = hosts,
                  .blocks = &network.engine().blocks(),
                  .phantom = network.phantom()};
    }

    void start(const Algorithm& algorithm) {
        network_.enter(place_.rank);
        const OpRecord record = OpRecord::make(op_, 1);
        call_.emplace(op_, place_,
                      MessageHead{.key = {.stream = 0, .sequence = 1, .tag = 0},
                                  .fingerprint = record.fingerprint(),
                                  .owner = this});
        task_ = algorithm.run(*call_);
        task_.start(network_.engine().ready(), *this);
        network_.engine().ready().run();
    }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] SimTime ended_at() const noexcept { return ended_at_; }
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

    [[nodiscard]] Link& link(int peer) override { return network_.link(place_.rank, peer); }

    [[nodiscard]] Error mismatch(int peer, const Envelope& theirs,
                                 std::size_t expected) const override {
        return {ErrorCode::mismatch,
                fmt::format("rank {} got {} bytes from rank {} in step {}, but expected {}",
                            place_.rank, theirs.length, peer, -1 - theirs.key.tag, expected)};
    }

    void complete(std::exception_ptr error) noexcept override {
        ended_ = true;
        ended_at_ = network_.rank(place_.rank).now;
        error_ = std::move(error);
        if (error_) network_.stop();
    }

private:
    SimNetwork& network_;
    Op op_;
    Place place_;
    std::optional<Call> call_;
    Task task_;
    bool ended_ = false;
    SimTime ended_at_{};
    std::exception_ptr error_;
};

// Lets all ranks run to their end; throws what the first of them failed with.
void run_all(SimNetwork& network, std::deque<RankRun>& runs, const Algorithm& algorithm) {
    std::size_t started = 0;
    while (started < runs.size() && !network.stopped()) runs[started++].start(algorithm);
    network.deliver_all();
    std::exception_ptr failure;
    std::size_t waiting = 0;
    for (std::size_t rank = 0; rank < started; ++rank) {
        if (runs[rank].error() && !failure) failure = runs[rank].error();
        if (!runs[rank].ended()) ++waiting;
    }
    if (waiting > 0 && !failure)
        failure = std::make_exception_ptr(Error(
            ErrorCode::timeout, fmt::format("{} of {} ranks wait for messages that nobody sends",
                                            waiting, runs.size())));
    if (!failure) return;
    network.fail(failure);
    std::rethrow_exception(failure);
}

bool on_one_host(int ranks, int hosts) noexcept { return hosts <= 1 || ranks <= 1; }

bool has_several_hosts(int ranks, int hosts) noexcept { return hosts > 1 && hosts < ranks; }

SimulationResult result_of(const SimNetwork& network, const std::deque<RankRun>& runs) {
    SimulationResult result;
    std::size_t total = 0;
    for (int rank = 0; rank < network.size(); ++rank) {
        const SimRank& one = network.rank(rank);
        result.time = std::max(result.time, runs[static_cast<std::size_t>(rank)].ended_at());
        result.steps = std::max(result.steps, one.depth);
        result.most_bytes = std::max(result.most_bytes, one.bytes);
        result.most_messages = std::max(result.most_messages, one.messages);
        result.bytes_between_hosts += one.bytes_between_hosts;
        total += one.bytes;
    }
    result.mean_bytes = static_cast<double>(total) / network.size();
    result.links = network.links();
    return result;
}

}  // namespace

SimulationResult simulate(const SimulationPlan& plan) {
    const std::size_t allocated_before = allocated_bytes();
    const OpKind kind = plan.algorithm->kind;
    const std::size_t bytes = simulated_bytes(kind, plan.ranks, plan.bytes, plan.dtype);
    const SimData data({.kind = kind,
                        .ranks = plan.ranks,
                        .dtype = plan.dtype,
                        .count = bytes / size_of(plan.dtype),
                        .real = plan.real,
                        .in_place = plan.in_place});
    SimNetwork network(plan.ranks, std::min(plan.hosts, plan.ranks), plan.costs, !plan.real,
                       plan.memory_limit / bytes_per_link);

    // A sum that costs time. Phantoms have nothing to add.
    const ReduceKernel add = find_kernel(plan.dtype, ReduceOp::Kind::sum);
    const UserReduce timed_sum(
        "sum",
        [&](const void* a, const void* b, void* out, std::size_t count, Dtype) {
            network.charge_reduction(count * size_of(plan.dtype));
            if (!network.phantom())
                add(static_cast<const std::byte*>(a), static_cast<const std::byte*>(b),
                    static_cast<std::byte*>(out), count);
        },
        true);

    std::vector<int> hosts;
    for (int rank = 0; rank < plan.ranks; ++rank) hosts.push_back(network.rank(rank).host);
    std::deque<RankRun> runs;
    for (int rank = 0; rank < plan.ranks; ++rank) {
        Op op{.kind = kind, .in = data.in(rank), .out = data.out(rank)};
        if (info(kind).reduces) op.reduce = timed_sum;
        if (info(kind).has_root) op.peer = 0;
        runs.emplace_back(network, rank, op, hosts);
    }
    run_all(network, runs, *plan.algorithm);

    SimulationResult result = result_of(network, runs);
    const std::size_t allocated_after = allocated_bytes();
    if (allocated_after > allocated_before) result.memory = allocated_after - allocated_before;
    result.bytes = bytes;
    if (plan.real) result.wrong = data.check();
    return result;
}

std::size_t simulated_bytes(OpKind kind, int ranks, std::size_t bytes, Dtype dtype) noexcept {
    const Shape shape = info(kind).shape;
    if (shape == Shape::none) return 0;
    const std::size_t parts = shape == Shape::same ? 1 : static_cast<std::size_t>(ranks);
    const std::size_t grain = size_of(dtype) * parts;
    return (bytes + grain - 1) / grain * grain;
}

std::string obstacle_to_simulation(const Algorithm& algorithm, int ranks, int hosts) {
    if (info(algorithm.kind).point_to_point) return "a message between two ranks is no collective";
    if ((algorithm.traits & needs_commons) != 0)
        return "it goes through memory that all ranks map, which is not simulated";
    if ((algorithm.traits & needs_memory) != 0 && !on_one_host(ranks, hosts))
        return "it reads and writes the memory of all ranks, which must be on one host";
    if ((algorithm.traits & needs_hosts) != 0 && !has_several_hosts(ranks, hosts))
        return "it needs several hosts, of which one has several ranks: see --hosts";
    if (ranks < algorithm.least_ranks)
        return fmt::format("it needs at least {} ranks", algorithm.least_ranks);
    if (ranks > algorithm.most_ranks)
        return fmt::format("it is for at most {} ranks", algorithm.most_ranks);
    return {};
}

const Algorithm& table_choice(OpKind kind, int ranks, int hosts, std::size_t bytes) {
    const OpInfo& row = info(kind);
    const bool parted = row.shape == Shape::gathered || row.shape == Shape::scattered;
    // As a group does: of parted operations one part, of those whose ranks need not agree nothing.
    const std::size_t part = parted ? bytes / static_cast<std::size_t>(ranks) : bytes;
    return AlgorithmChoice().select({.kind = kind,
                                     .bytes = row.counts == Counts::pairwise ? 0 : part,
                                     .ranks = ranks,
                                     .memory = on_one_host(ranks, hosts),
                                     .several_hosts = has_several_hosts(ranks, hosts)});
}

}  // namespace trireme
