#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/collector.h"
#include "trireme/op.h"

namespace trireme {

/// Counts operations for Prometheus.
class Metrics final : public OperationSink {
public:
    Metrics(int rank, int size) : rank_(rank), size_(size) {}

    void begun(const board::Entry& entry) override;
    void ended(const board::Entry& entry) override;
    void lost(const board::Entry& /*entry*/) override {}  // it is counted as missed
    void missed(std::uint64_t count) override { missed_ += count; }

    /// In Prometheus's text format.
    [[nodiscard]] std::string text(const std::vector<board::Entry>& under_way,
                                   std::int64_t now) const;

private:
    // Up to 1 us, 10 us, ... 100 s, and more.
    static constexpr std::size_t buckets = 10;
    struct Kind {
        std::uint64_t begun = 0;
        std::uint64_t ended = 0;
        std::uint64_t failed = 0;
        std::uint64_t bytes = 0;
        std::int64_t nanoseconds = 0;
        std::array<std::uint64_t, buckets> durations{};
    };

    int rank_;
    int size_;
    std::uint64_t missed_ = 0;
    std::array<Kind, op_kinds> kinds_{};
};

}  // namespace trireme
