// Virtual time: what the cost model says, and the same in every run.

#include <gtest/gtest.h>

#include "simulations.h"
#include "trireme/error.h"

namespace trireme {
namespace {

// Round numbers, so that times can be computed in one's head.
CostModel plain_costs() {
    CostModel costs;
    costs.in_host = {sim_microseconds(1), 1, 8 << 10};
    costs.between_hosts = {sim_microseconds(10), 1, 8 << 10};
    costs.per_message = SimTime(0);
    costs.reduce_gigabytes_per_second = 1e9;
    return costs;
}

constexpr std::size_t envelope = 32;

TEST(SimulatedTime, AMessageTakesItsLatencyAndItsLength) {
    const CostModel costs = plain_costs();
    const auto result = simulate({.algorithm = &row(OpKind::broadcast, "binomial"),
                                  .ranks = 2,
                                  .bytes = 1000,
                                  .costs = costs});
    // 1 GB/s is a byte per nanosecond.
    EXPECT_EQ(result.time, sim_microseconds(1) + sim_duration(1000 + envelope, 1));
}

TEST(SimulatedTime, ProcessorsPayForMessagesAndReductions) {
    CostModel costs = plain_costs();
    costs.per_message = sim_microseconds(3);
    costs.reduce_gigabytes_per_second = 0.5;
    const auto result = simulate(
        {.algorithm = &row(OpKind::reduce, "binomial"), .ranks = 2, .bytes = 1000, .costs = costs});
    EXPECT_EQ(result.time, sim_microseconds(3 + 1 + 3) + sim_duration(1000 + envelope, 1) +
                               sim_duration(1000, 0.5));
}

TEST(SimulatedTime, PortsSerialise) {
    const CostModel costs = plain_costs();
    const auto time = [&](OpKind kind, int ranks) {
        return simulate({.algorithm = &row(kind, "linear"),
                         .ranks = ranks,
                         .bytes = static_cast<std::size_t>(ranks) * 1000,
                         .costs = costs})
            .time;
    };
    // The root sends four messages one after the other, or gets them so.
    EXPECT_EQ(time(OpKind::scatter, 5), sim_microseconds(1) + 4 * sim_duration(1032, 1));
    EXPECT_EQ(time(OpKind::gather, 5), sim_microseconds(1) + 4 * sim_duration(1032, 1));
}

TEST(SimulatedTime, HostsAreFarther) {
    const CostModel costs = plain_costs();
    const auto time = [&](int hosts) {
        return simulate({.algorithm = &row(OpKind::barrier, "dissemination"),
                         .ranks = 2,
                         .hosts = hosts,
                         .costs = costs})
            .time;
    };
    EXPECT_EQ(time(2) - time(1), sim_microseconds(9));
}

TEST(SimulatedTime, IsTheSameInEveryRun) {
    for (const Algorithm& one : algorithms()) {
        if (!obstacle_to_simulation(one, 60, 7).empty()) continue;
        for (const std::size_t bytes : {std::size_t{960}, std::size_t{3} << 20}) {
            const SimulationPlan plan{.algorithm = &one, .ranks = 60, .hosts = 7, .bytes = bytes};
            const SimulationResult first = simulate(plan);
            const SimulationResult second = simulate(plan);
            EXPECT_EQ(first.time, second.time) << info(one.kind).name << " " << one.name;
            EXPECT_EQ(first.steps, second.steps);
            EXPECT_EQ(first.most_bytes, second.most_bytes);
        }
    }
}

// What is simulated does not depend on whether there is anything in the messages.
TEST(SimulatedTime, IsThatOfRealData) {
    for (const Algorithm& one : algorithms()) {
        if (!obstacle_to_simulation(one, 12, 3).empty()) continue;
        SimulationPlan plan{.algorithm = &one, .ranks = 12, .hosts = 3, .bytes = 960'000};
        const SimulationResult phantom = simulate(plan);
        plan.real = true;
        const SimulationResult real = simulate(plan);
        EXPECT_EQ(phantom.time, real.time) << info(one.kind).name << " " << one.name;
        EXPECT_EQ(phantom.steps, real.steps);
        EXPECT_EQ(phantom.most_bytes, real.most_bytes);
        EXPECT_EQ(real.wrong, "");
    }
}

TEST(SimulatedMemory, TooManyLinksAreRefused) {
    try {
        static_cast<void>(simulate({.algorithm = &row(OpKind::all_to_all, "pairwise"),
                                    .ranks = 200,
                                    .bytes = 200 * 4,
                                    .memory_limit = 10 << 20}));
        FAIL() << "it ran";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported);
        EXPECT_NE(std::string(error.what()).find("links"), std::string::npos) << error.what();
    }
}

TEST(SimulatedMemory, PhantomsTakeNone) {
    // Sixteen ranks with 4 GiB each.
    const auto result = run_phantom(OpKind::all_reduce, "halving", 16, std::size_t{4} << 30);
    EXPECT_EQ(result.most_bytes, 2 * ((std::size_t{4} << 30) - (std::size_t{4} << 26)));
    EXPECT_LT(result.memory, std::size_t{256} << 20);
}

}  // namespace
}  // namespace trireme
