#include "goals.h"

#include <algorithm>
#include <array>

namespace trireme::bench {
namespace {

constexpr std::uint64_t kibi = std::uint64_t{1} << 10;
constexpr std::uint64_t mebi = std::uint64_t{1} << 20;
constexpr std::uint64_t any_size = UINT64_MAX;

bool is_point_to_point(std::string_view op) {
    return op.starts_with("send") || op.starts_with("p2p");
}

bool concerns(Goal::Ops ops, std::string_view op) {
    static constexpr std::array<std::string_view, 6> collectives{
        "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "barrier"};
    const bool measures_bandwidth = op.find("bandwidth") != std::string_view::npos;
    switch (ops) {
        case Goal::Ops::collectives: return std::ranges::find(collectives, op) != collectives.end();
        case Goal::Ops::all_reduce: return op == "all_reduce";
        case Goal::Ops::others: return op != "all_reduce";
        case Goal::Ops::latency: return is_point_to_point(op) && !measures_bandwidth;
        case Goal::Ops::bandwidth: return is_point_to_point(op) && measures_bandwidth;
    }
    return false;
}

}  // namespace

const std::vector<Goal>& goals() {
    using enum Goal::Ops;
    using enum Rival;
    static const std::vector<Goal> table{
        // text, operations, rival, sizes, buffers, between hosts, two ranks, more
        {"collectives up to 1 KiB", collectives, mpi, 0, kibi, "", false, 1.3, 1.3},
        {"collectives, 16 KiB to 64 MiB, the user's buffers", collectives, mpi, 16 * kibi,
         64 * mebi, "user", false, 1.1, 1.05},
        {"all_reduce from 256 KiB, shared buffers", all_reduce, mpi, 256 * kibi, any_size, "shared",
         false, 2.5, 2.5},
        {"send and receive, latency at 8 B", latency, mpi, 0, 8, "", false, 1, 1},
        {"send and receive, bandwidth at 64 MiB", bandwidth, mpi, 64 * mebi, 64 * mebi, "", false,
         1, 1},
        {"all_reduce between hosts", all_reduce, mpi, 0, any_size, "", true, 1, 1},
        {"all_reduce up to 1 KiB", all_reduce, gloo, 0, kibi, "", false, 200, 200},
        {"all_reduce up to 16 KiB", all_reduce, gloo, kibi + 1, 16 * kibi, "", false, 50, 50},
        {"all_reduce above", all_reduce, gloo, 16 * kibi + 1, any_size, "", false, 5, 5},
        {"other operations up to 1 KiB", others, gloo, 0, kibi, "", false, 50, 50},
        {"other operations up to 16 KiB", others, gloo, kibi + 1, 16 * kibi, "", false, 10, 10},
        {"other operations above", others, gloo, 16 * kibi + 1, any_size, "", false, 2, 2},
    };
    return table;
}

std::optional<std::size_t> goal_of(const ResultRow& row, Rival rival) {
    if (row.ranks < 2) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < goals().size(); ++i) {
        const Goal& goal = goals()[i];
        if (goal.rival == rival && goal.between_hosts == (row.hosts > 1) &&
            concerns(goal.ops, row.op) && row.bytes >= goal.least_bytes &&
            row.bytes <= goal.most_bytes && (goal.buffers.empty() || goal.buffers == row.buffers)) {
            return i;
        }
    }
    return std::nullopt;
}

double goal_ratio(const Goal& goal, const ResultRow& row) {
    return row.ranks == 2 ? goal.a_core_each : goal.more_ranks;
}

std::optional<RivalTime> best_rival(const ResultRow& row, Rival rival) {
    std::optional<RivalTime> best;
    for (const auto& [name, time] : row.peers) {
        const bool is_gloo = name.find("gloo") != std::string::npos;
        if (is_gloo == (rival == Rival::gloo) && (!best || time < best->time)) {
            best = RivalTime{time, name};
        }
    }
    return best;
}

}  // namespace trireme::bench
