#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>

#include "core/unique_fd.h"
#include "observe/clock_offset.h"
#include "observe/collector.h"

namespace trireme {

/// Who writes a part of a trace.
struct TraceOrigin {
    int rank = 0;
    int size = 1;
    std::string host;
    int pid = 0;
};

/// The part of a trace that one rank writes: a file of lines, each a JSON object, valid up to the
/// last full line whenever the rank dies.
///
///   {"trireme":1,"rank":0,"size":2,"host":"node1","pid":17}      the first line
///   {"group":1,"name":"world","ranks":[0,1]}
///   {"offset":[at,offset,uncertainty]}       to the clock of rank 0: see clock_offset.h
///   {"n":5,"b":1000,"e":2000,"ok":true,...}  an operation; without "e" it has not ended yet, and
///                                            when it ends a line of the same "n" follows
///   {"lost":5}                               it will have no such line
///   {"missed":3,"at":2500}                   operations that were not seen
///   {"closed":3000}                          the last line
///
/// Times are nanoseconds of the rank's steady clock. After `limit` bytes operations are only
/// counted.
class TracePart final : public OperationSink {
public:
    /// Throws `Error(system)`, with path and reason, where it exists or cannot be made.
    TracePart(const std::filesystem::path& path, const TraceOrigin& origin, std::uint64_t limit,
              const Collector& names);

    void group(std::uint32_t stream, const std::string& name, std::span<const int> ranks);
    void offset(const ClockOffset& offset);
    void begun(const board::Entry& entry) override;
    void ended(const board::Entry& entry) override;
    void lost(const board::Entry& entry) override;
    void missed(std::uint64_t count) override;

    /// Writes what has gathered.
    void flush(std::int64_t now);
    void close(std::int64_t now);

private:
    [[nodiscard]] nlohmann::ordered_json line_of(const board::Entry& entry) const;
    bool add_within_limit(const nlohmann::ordered_json& line);

    const Collector& names_;
    UniqueFd file_;
    std::uint64_t left_;
    std::set<std::uint64_t> open_;  // written as begun only
    std::uint64_t missed_ = 0;
    std::string text_;
};

}  // namespace trireme
