#include "algorithm/schedule/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "schedule_simulation.h"

namespace trireme::schedule {
namespace {

static_assert(Partition{10, 4}.offset(0) == 0);
static_assert(Partition{10, 4}.size(0) == 3 && Partition{10, 4}.size(3) == 2);
static_assert(Partition{10, 4}.offset(4) == 10);
static_assert(pieces(0, 8).parts == 0 && pieces(9, 8).parts == 2 && pieces(9, 8).size(0) == 5);

TEST(Partition, covers_all_elements_in_order_and_is_balanced) {
    for (std::size_t count = 0; count <= 200; ++count) {
        for (int parts = 1; parts <= largest_size; ++parts) {
            for (const std::size_t granularity : {1, 2, 3, 16, 64, 300}) {
                const Partition partition{count, parts, granularity};
                std::size_t at = 0;
                std::size_t most_units = 0;
                std::size_t fewest_units = count + 1;
                for (int i = 0; i < parts; ++i) {
                    ASSERT_EQ(partition.offset(i), at);
                    const std::size_t size = partition.size(i);
                    if (size > 0) {
                        ASSERT_EQ(at % granularity, 0u);
                    }
                    ASSERT_LE(size, partition.largest());
                    at += size;
                    const std::size_t units = (size + granularity - 1) / granularity;
                    most_units = std::max(most_units, units);
                    fewest_units = std::min(fewest_units, units);
                }
                ASSERT_EQ(at, count);
                ASSERT_EQ(partition.offset(parts), count);
                ASSERT_LE(most_units - fewest_units, 1u) << count << " in " << parts;
            }
        }
    }
}

TEST(Partition, does_not_overflow_at_the_largest_counts) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const std::size_t granularity : {std::size_t{1}, std::size_t{64}, most}) {
        for (const int parts : {1, 3, 64}) {
            const Partition partition{most, parts, granularity};
            std::size_t at = 0;
            for (int i = 0; i < parts; ++i) {
                ASSERT_EQ(partition.offset(i), at);
                ASSERT_GE(partition.offset(i + 1), at);
                at = partition.offset(i + 1);
            }
            ASSERT_EQ(at, most);
        }
    }
}

TEST(Pieces, are_as_few_as_the_limit_allows) {
    for (std::size_t count = 0; count <= 300; ++count) {
        for (std::size_t limit = 1; limit <= 70; ++limit) {
            for (const std::size_t granularity : {1, 4, 64}) {
                const Partition split = pieces(count, limit, granularity);
                // One unit is the least that a piece can be, whatever the limit.
                const std::size_t most = std::max(limit / granularity * granularity, granularity);
                ASSERT_EQ(static_cast<std::size_t>(split.parts), (count + most - 1) / most);
                std::size_t sum = 0;
                for (std::int64_t i = 0; i < split.parts; ++i) {
                    ASSERT_GT(split.size(i), 0u);
                    ASSERT_LE(split.size(i), most);
                    sum += split.size(i);
                }
                ASSERT_EQ(sum, count);
            }
        }
    }
    EXPECT_EQ(pieces(0, 10).largest(), 0u);
}

}  // namespace
}  // namespace trireme::schedule
