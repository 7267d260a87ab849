// Fingerprints and texts of operations.

#include "core/op_record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/op_info.h"

namespace trireme {
namespace {

OpRecord record(OpKind kind, std::uint64_t count = 10, Dtype dtype = Dtype::float32,
                ReduceOp reduce = sum, int peer = -1) {
    return {.kind = kind,
            .dtype = dtype,
            .reduce = reduce.kind(),
            .peer = peer,
            .count = count,
            .file = "/home/me/train.cpp",
            .line = 88};
}

TEST(OpRecord, FingerprintsTellCallsApart) {
    std::set<std::uint64_t> seen;
    std::size_t count = 0;
    for (const OpInfo& row : op_table) {
        if (row.kind == OpKind::recv) continue;
        for (int dtype = 0; dtype < static_cast<int>(dtype_count); ++dtype) {
            for (const std::uint64_t elements : {0ULL, 1ULL, 1024ULL, (1ULL << 30) - 1, 1ULL << 30,
                                                 (1ULL << 31) + 1, 1ULL << 40}) {
                if (row.counts == Counts::pairwise && elements != 0) continue;
                for (const ReduceOp reduce : {sum, prod, min, max, avg}) {
                    if (!row.reduces && reduce != sum) continue;
                    for (const int root : {0, 1, 65'535}) {
                        if (!row.has_root && root != 0) continue;
                        seen.insert(
                            record(row.kind, elements, static_cast<Dtype>(dtype), reduce, root)
                                .fingerprint());
                        ++count;
                    }
                }
            }
        }
    }
    EXPECT_EQ(seen.size(), count);
}

TEST(OpRecord, FingerprintsAgreeWhereCallsNeedNot) {
    // A send and its receive; the peers of a message; a reduce op that an operation has not.
    EXPECT_EQ(record(OpKind::send, 5, Dtype::int8, sum, 1).fingerprint(),
              record(OpKind::recv, 5, Dtype::int8, sum, 0).fingerprint());
    EXPECT_EQ(record(OpKind::broadcast, 5, Dtype::int8, sum, 1).fingerprint(),
              record(OpKind::broadcast, 5, Dtype::int8, max, 1).fingerprint());
    OpRecord elsewhere = record(OpKind::all_reduce);
    elsewhere.file = "other.cpp";
    elsewhere.sequence = 4;
    EXPECT_EQ(elsewhere.fingerprint(), record(OpKind::all_reduce).fingerprint());
}

TEST(OpRecord, CountsWhatAllRanksAgreeOn) {
    const Buffer small{nullptr, 4, Dtype::int32};
    const Buffer large{nullptr, 12, Dtype::int32};
    const auto count = [](OpKind kind, std::span<const Buffer> in, std::span<const Buffer> out) {
        return OpRecord::make({.kind = kind, .in = in, .out = out}, 1).count;
    };
    EXPECT_EQ(count(OpKind::all_gather, {&small, 1}, {&large, 1}), 4U);
    EXPECT_EQ(count(OpKind::gather, {&small, 1}, {&large, 1}), 4U);
    EXPECT_EQ(count(OpKind::scatter, {&large, 1}, {&small, 1}), 4U);
    EXPECT_EQ(count(OpKind::reduce_scatter, {&large, 1}, {&small, 1}), 4U);
    EXPECT_EQ(count(OpKind::all_to_all, {&large, 1}, {&large, 1}), 12U);
    EXPECT_EQ(count(OpKind::recv, {}, {&small, 1}), 4U);
    EXPECT_EQ(count(OpKind::send, {&small, 1}, {}), 4U);
    EXPECT_EQ(count(OpKind::barrier, {}, {}), 0U);
}

TEST(OpRecord, Describes) {
    OpRecord one = record(OpKind::all_reduce, 1024);
    one.sequence = 42;
    EXPECT_EQ(one.describe(), "all_reduce #42 float32[1024] sum (train.cpp:88)");
    EXPECT_EQ(one.site(), "train.cpp:88");
    EXPECT_EQ(record(OpKind::broadcast, 3, Dtype::boolean, sum, 2).describe(),
              "broadcast boolean[3] root 2 (train.cpp:88)");
    EXPECT_EQ(record(OpKind::reduce, 3, Dtype::int64, avg, 0).describe(),
              "reduce int64[3] avg root 0 (train.cpp:88)");
    EXPECT_EQ(record(OpKind::barrier).describe(), "barrier (train.cpp:88)");
    EXPECT_EQ(record(OpKind::send, 7, Dtype::uint8, sum, 3).describe(),
              "send uint8[7] to rank 3 (train.cpp:88)");
    OpRecord receive = record(OpKind::recv, 7, Dtype::uint8, sum, 3);
    receive.tag = 5;
    receive.sequence = 2;
    EXPECT_EQ(receive.describe(), "recv #2 uint8[7] from rank 3 tag 5 (train.cpp:88)");
}

TEST(OpRecord, DescribesFingerprints) {
    const auto text = [](const OpRecord& one) { return describe_fingerprint(one.fingerprint()); };
    EXPECT_EQ(text(record(OpKind::all_reduce, 1024, Dtype::float32, max)),
              "all_reduce float32[1024] max");
    EXPECT_EQ(text(record(OpKind::broadcast, 0, Dtype::int8, sum, 2)), "broadcast int8[0] root 2");
    EXPECT_EQ(text(record(OpKind::barrier, 0)), "barrier");
    EXPECT_EQ(text(record(OpKind::recv, 6, Dtype::bfloat16)), "send bfloat16[6]");
    EXPECT_EQ(text(record(OpKind::all_gather, 1ULL << 33)), "all_gather float32[2^30 or more]");
    EXPECT_EQ(describe_fingerprint(std::numeric_limits<std::uint64_t>::max()),
              "an unknown operation");
    // No number is too strange to be described.
    for (std::uint64_t bits = 1; bits != 0; bits <<= 1) {
        EXPECT_FALSE(describe_fingerprint(bits).empty());
        EXPECT_FALSE(describe_fingerprint(~bits).empty());
    }
}

TEST(OpInfo, RowsStandInTheirPlaces) {
    for (std::size_t i = 0; i < op_table.size(); ++i)
        EXPECT_EQ(static_cast<std::size_t>(op_table[i].kind), i);
    EXPECT_DOUBLE_EQ(info(OpKind::all_reduce).bus_factor(4), 1.5);
    EXPECT_DOUBLE_EQ(info(OpKind::all_gather).bus_factor(4), 0.75);
    EXPECT_DOUBLE_EQ(info(OpKind::broadcast).bus_factor(4), 1);
}

}  // namespace
}  // namespace trireme
