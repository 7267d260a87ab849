#include "observe/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/op_info.h"
#include "trireme/dtype.h"

namespace trireme {

namespace {

constexpr std::int64_t first_bucket = 1000;  // ns

class MetricsText {
public:
    explicit MetricsText(std::string labels) : labels_(std::move(labels)) {}

    void family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(text), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type,
                       help);
    }
    template <class Value>
    void value(std::string_view suffix, std::string_view more_labels, Value value) {
        fmt::format_to(std::back_inserter(text), "{}{}{{{}{}}} {}\n", name_, suffix, labels_,
                       more_labels, value);
    }

    std::string text;

private:
    std::string labels_;
    std::string_view name_;
};

double in_seconds_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

void Metrics::begun(const board::Entry& entry) { ++kinds_[entry.kind].begun; }

void Metrics::ended(const board::Entry& entry) {
    Kind& kind = kinds_[entry.kind];
    // Begin and end may be of clocks that differ by less than a microsecond.
    const std::int64_t took = std::max(std::int64_t{0}, std::abs(entry.ended) - entry.begun);
    ++kind.ended;
    if (entry.ended < 0)
        ++kind.failed;
    else
        kind.bytes += entry.count * size_of(static_cast<Dtype>(entry.dtype));
    kind.nanoseconds += took;
    std::size_t bucket = 0;
    for (std::int64_t bound = first_bucket; bucket + 1 < buckets && took > bound; bound *= 10)
        ++bucket;
    ++kind.durations[bucket];
}

std::string Metrics::text(const std::vector<board::Entry>& under_way, std::int64_t now) const {
    MetricsText out(fmt::format("rank=\"{}\",size=\"{}\"", rank_, size_));
    const auto each = [&](auto write) {
        for (const OpInfo& row : op_table) {
            const Kind& kind = kinds_[static_cast<std::size_t>(row.kind)];
            if (kind.begun != 0) write(fmt::format(",kind=\"{}\"", row.name), kind);
        }
    };
    out.family("trireme_operations_begun_total", "counter", "Operations that have begun.");
    each([&](const auto& labels, const Kind& kind) { out.value("", labels, kind.begun); });
    out.family("trireme_operations_ended_total", "counter", "Operations that have ended.");
    each([&](const auto& labels, const Kind& kind) { out.value("", labels, kind.ended); });
    out.family("trireme_operations_failed_total", "counter",
               "Operations that have ended with an error.");
    each([&](const auto& labels, const Kind& kind) { out.value("", labels, kind.failed); });
    out.family("trireme_operation_bytes_total", "counter",
               "Bytes that this rank contributed to or received by operations.");
    each([&](const auto& labels, const Kind& kind) { out.value("", labels, kind.bytes); });
    out.family("trireme_operation_seconds", "histogram", "From an operation's begin to its end.");
    each([&](const std::string& labels, const Kind& kind) {
        std::uint64_t up_to = 0;
        std::int64_t bound = first_bucket;
        for (std::size_t i = 0; i < buckets; ++i, bound *= 10) {
            up_to += kind.durations[i];
            const std::string most =
                i + 1 < buckets ? fmt::format("{:g}", in_seconds_of(bound)) : "+Inf";
            out.value("_bucket", fmt::format("{},le=\"{}\"", labels, most), up_to);
        }
        out.value("_sum", labels, in_seconds_of(kind.nanoseconds));
        out.value("_count", labels, kind.ended);
    });
    out.family("trireme_operations_under_way", "gauge", "Operations that have not ended yet.");
    out.value("", "", under_way.size());
    std::int64_t oldest = now;
    for (const board::Entry& entry : under_way) oldest = std::min(oldest, entry.begun);
    out.family("trireme_oldest_operation_seconds", "gauge",
               "For how long the oldest of them has been under way.");
    out.value("", "", in_seconds_of(now - oldest));
    out.family("trireme_operations_unseen_total", "counter",
               "Operations that began and ended too fast to be counted above.");
    out.value("", "", missed_);
    return std::move(out.text);
}

}  // namespace trireme
