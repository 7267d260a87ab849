// What the machine can do, and what follows for an operation.

#include "../../tools/bench/limits.h"

#include <string>

#include <gmock/gmock.h>

#include "../../tools/bench/limit_time.h"
#include "sample_report.h"

namespace trireme::bench {
namespace {

TEST(BenchLimits, EveryFigureIsThere) {
    const nlohmann::json limits = measure_limits(0.02);
    EXPECT_GE(limits.at("cores").get<int>(), 1);
    for (const std::string name : {"copy_1_core",
                                   "copy_all_cores",
                                   "add_1_core",
                                   "add_all_cores",
                                   "read_1_core",
                                   "read_all_cores",
                                   "l2_copy_1_core",
                                   "l2_copy_all_cores",
                                   "copy_1_mib_all_cores",
                                   "copy_4_mib_all_cores",
                                   "copy_16_mib_all_cores",
                                   "process_vm_readv_8_b",
                                   "process_vm_readv_1_mib",
                                   "process_vm_readv_64_mib",
                                   "cache_line_one_way",
                                   "sched_yield_alone",
                                   "sched_yield_to_other",
                                   "futex_1_core",
                                   "futex_2_cores",
                                   "tcp_loopback"}) {
        ASSERT_TRUE(limits.contains(name)) << name;
        const nlohmann::json& limit = limits.at(name);
        EXPECT_NE(limit.at("about"), "") << name;
        if (limit.contains("error") && name.starts_with("process_vm_readv")) {
            continue;  // a container may forbid it
        }
        EXPECT_GT(limit.at("best").get<double>(), 0) << name;
        EXPECT_GT(limit.at("median").get<double>(), 0) << name;
        const std::string unit = limit.at("unit");
        EXPECT_THAT((std::vector<std::string>{"GB/s", "ns", "µs"}), testing::Contains(unit))
            << name;
        if (unit == "GB/s") {
            EXPECT_GE(limit.at("best"), limit.at("median")) << name;
        } else {
            EXPECT_LE(limit.at("best"), limit.at("median")) << name;
        }
    }
    ASSERT_EQ(limits.at("copy_by_size").size(), 5U);
    for (const nlohmann::json& point : limits.at("copy_by_size")) {
        EXPECT_GT(point.at("bytes").get<double>(), 0);
        EXPECT_GT(point.at("GBps").get<double>(), 0);
    }
}

double limit_of(const std::string& op, int ranks, double bytes) {
    ResultRow row;
    row.op = op;
    row.ranks = ranks;
    return LimitTime(test::sample_limits()).of(row, bytes).value_or(-1);
}

// The sample: 2 cores, a flight of 60 ns, a change of process in half of 2900 ns.
TEST(BenchLimits, GiveTheTimeOfAnOperation) {
    constexpr double mebi = 1 << 20;
    EXPECT_NEAR(limit_of("all_reduce", 2, 64 * mebi), 0.06 + 2 * 64 * mebi / 18.8e3, 1e-6);
    EXPECT_NEAR(limit_of("all_reduce", 4, 64 * mebi), 0.06 + 1.45 + 4 * 64 * mebi / 18.8e3, 1e-6);
    EXPECT_NEAR(limit_of("broadcast", 2, 128 * mebi), 0.06 + 128 * mebi / 18.8e3, 1e-6);
    EXPECT_NEAR(limit_of("reduce_scatter", 3, mebi / 16), 0.06 + 1.45 + mebi / 8 / 114e3, 1e-6);
    EXPECT_NEAR(limit_of("barrier", 8, 0), 0.06 + 3 * 1.45, 1e-6);
    EXPECT_NEAR(limit_of("sendrecv_latency", 8, 128 * mebi), 0.06 + 128 * mebi / 18.8e3, 1e-6);
    EXPECT_NEAR(limit_of("sendrecv_bandwidth", 8, mebi / 16), mebi / 16 / 114e3, 1e-6);
    // Two fifths of the way from 128 KiB to 4 MiB, so from 114 GB/s to 60.
    EXPECT_NEAR(limit_of("all_reduce", 2, mebi / 2), 0.06 + mebi / 92.4e3, 1e-6);
}

TEST(BenchLimits, AreUnknownWithoutMeasurements) {
    EXPECT_EQ(limit_of("unheard_of", 2, 8), -1);
    EXPECT_EQ(limit_of("all_reduce", 1, 8), -1);
    ResultRow row;
    row.op = "all_reduce";
    row.ranks = 2;
    EXPECT_FALSE(LimitTime(nullptr).of(row, 8));
    EXPECT_FALSE(LimitTime(nlohmann::json{{"cores", 2}}).of(row, 8));
    row.hosts = 2;
    EXPECT_FALSE(LimitTime(test::sample_limits()).of(row, 8));
}

}  // namespace
}  // namespace trireme::bench
