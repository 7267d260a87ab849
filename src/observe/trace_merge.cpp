#include "observe/trace_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trireme/error.h"

namespace trireme {

namespace {

constexpr std::uintmax_t most_part_bytes = std::uintmax_t{1} << 30;

using TraceEvent = nlohmann::ordered_json;

class ChromeTrace {
public:
    ChromeTrace(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {
        // Small numbers read better than the time since the machine's start.
        for (const TraceSlice& slice : trace.slices)
            start_ = start_ == 0 ? slice.begun : std::min(start_, slice.begun);
    }

    void write() {
        out_ << R"({"displayTimeUnit":"ns","traceEvents":[)";
        for (const auto& [number, rank] : trace_.ranks) write_rank(number, rank);
        for (const TraceSlice& slice : trace_.slices) write_slice(slice);
        for (const auto& [key, meeting] : meetings_) write_flow(meeting);
        out_ << "\n]}\n";
    }

private:
    // Which calls belong together: of a collective those of its number on the group; of a message
    // also its ends and its tag.
    using MeetingKey = std::tuple<std::uint32_t, std::uint64_t, int, int, int>;
    using Meeting = std::vector<const TraceSlice*>;

    void write_event(const TraceEvent& event) {
        out_ << (std::exchange(first_, false) ? "\n" : ",\n")
             << event.dump(-1, ' ', false, TraceEvent::error_handler_t::replace);
    }

    // Chrome counts in microseconds, with fractions.
    [[nodiscard]] double since_start(std::int64_t time) const {
        return static_cast<double>(time - start_) / 1000;
    }

    void write_rank(int number, const TraceRank& rank) {
        std::string name = fmt::format("rank {} ({}, process {})", number, rank.host, rank.pid);
        if (!rank.closed) name += ", did not come to its end";
        if (rank.offsets.empty()) name += ", clock not aligned";
        write_event({{"ph", "M"},
                     {"name", "process_name"},
                     {"pid", number},
                     {"tid", 0},
                     {"args", {{"name", name}}}});
        write_event({{"ph", "M"},
                     {"name", "process_sort_index"},
                     {"pid", number},
                     {"tid", 0},
                     {"args", {{"sort_index", number}}}});
        for (const auto& [at, count] : rank.gaps)
            write_event({{"ph", "i"},
                         {"s", "p"},
                         {"pid", number},
                         {"tid", 0},
                         {"ts", since_start(at)},
                         {"name", fmt::format("{} operations not recorded", count)}});
    }

    // The tracks of a rank are numbered from 1 as they appear.
    int track_of(const TraceSlice& slice) {
        if (slice.rank != tracks_of_) tracks_.clear();
        tracks_of_ = slice.rank;
        const auto [known, is_new] = tracks_.emplace(std::pair(slice.group, slice.lane),
                                                     static_cast<int>(tracks_.size()) + 1);
        if (is_new) {
            const auto group = trace_.groups.find(slice.group);
            std::string name = group != trace_.groups.end() ? group->second.name
                                                            : fmt::format("group {}", slice.group);
            if (slice.lane > 0) name += fmt::format(" ({})", slice.lane + 1);
            write_event({{"ph", "M"},
                         {"name", "thread_name"},
                         {"pid", slice.rank},
                         {"tid", known->second},
                         {"args", {{"name", name}}}});
            write_event(
                {{"ph", "M"},
                 {"name", "thread_sort_index"},
                 {"pid", slice.rank},
                 {"tid", known->second},
                 {"args",
                  {{"sort_index", slice.group * 1000 + static_cast<std::uint32_t>(slice.lane)}}}});
        }
        return known->second;
    }

    [[nodiscard]] std::string title(const TraceSlice& slice) const {
        return fmt::format("{} #{}", trace_.name(slice.kind), slice.sequence);
    }

    void write_slice(const TraceSlice& slice) {
        const int track = track_of(slice);
        TraceEvent arguments{{"sequence", slice.sequence}};
        const auto add = [&](const char* key, std::uint32_t name) {
            if (name != 0) arguments[key] = trace_.name(name);
        };
        if (slice.dtype != 0) {
            arguments["bytes"] = slice.bytes;
            arguments["count"] = slice.count;
        }
        add("dtype", slice.dtype);
        add("reduce", slice.reduce);
        if (slice.peer >= 0) arguments["peer"] = slice.peer;
        if (is_message(slice)) arguments["tag"] = slice.tag;
        add("algorithm", slice.algorithm);
        add("site", slice.site);
        arguments["state"] = !slice.is_over ? "under way" : slice.well ? "done" : "failed";
        write_event({{"ph", "X"},
                     {"name", title(slice)},
                     {"cat", trace_.name(slice.kind)},
                     {"pid", slice.rank},
                     {"tid", track},
                     {"ts", since_start(slice.begun)},
                     {"dur", static_cast<double>(slice.ended - slice.begun) / 1000},
                     {"args", std::move(arguments)}});
        if (const auto key = meeting_of(slice)) {
            meetings_[*key].push_back(&slice);
            track_of_slice_[&slice] = track;
        }
    }

    [[nodiscard]] bool is_message(const TraceSlice& slice) const {
        return trace_.name(slice.kind) == "send" || trace_.name(slice.kind) == "recv";
    }

    [[nodiscard]] std::optional<MeetingKey> meeting_of(const TraceSlice& slice) const {
        if (!is_message(slice)) return MeetingKey{slice.group, slice.sequence, -1, -1, 0};
        const auto group = trace_.groups.find(slice.group);
        // A receive from any source does not say from where.
        if (slice.peer < 0 || group == trace_.groups.end() ||
            static_cast<std::size_t>(slice.peer) >= group->second.ranks.size())
            return std::nullopt;
        int from = slice.rank;
        int to = group->second.ranks[static_cast<std::size_t>(slice.peer)];
        if (trace_.name(slice.kind) == "recv") std::swap(from, to);
        return MeetingKey{slice.group, slice.sequence, from, to, slice.tag};
    }

    void write_flow(Meeting meeting) {
        if (meeting.size() < 2) return;
        std::ranges::sort(meeting, {}, [](const TraceSlice* slice) {
            return std::pair(slice->begun, slice->rank);
        });
        ++flows_;
        for (const TraceSlice* slice : meeting) {
            TraceEvent event{{"ph", slice == meeting.front()  ? "s"
                                    : slice == meeting.back() ? "f"
                                                              : "t"},
                             {"name", title(*meeting.front())},
                             {"cat", "flow"},
                             {"id", flows_},
                             {"pid", slice->rank},
                             {"tid", track_of_slice_.at(slice)},
                             {"ts", since_start(slice->begun)}};
            if (slice == meeting.back()) event["bp"] = "e";
            write_event(event);
        }
    }

    const Trace& trace_;
    std::ostream& out_;
    std::int64_t start_ = 0;
    bool first_ = true;
    int tracks_of_ = -1;
    std::map<std::pair<std::uint32_t, std::int32_t>, int> tracks_;
    std::map<MeetingKey, Meeting> meetings_;
    std::unordered_map<const TraceSlice*, int> track_of_slice_;
    int flows_ = 0;
};

}  // namespace

void write_chrome_trace(const Trace& trace, std::ostream& out) { ChromeTrace(trace, out).write(); }

void merge_trace_parts(const std::vector<std::filesystem::path>& parts,
                       const std::filesystem::path& result) {
    std::uintmax_t bytes = 0;
    std::error_code error;
    for (const auto& part : parts) bytes += std::filesystem::file_size(part, error);
    if (error || bytes > most_part_bytes)
        throw Error(ErrorCode::system,
                    error ? fmt::format("cannot read a trace's part: {}", error.message())
                          : fmt::format("the parts of the trace have {} MiB together, more than "
                                        "the 1024 that are put together: trace less, or lower "
                                        "TRIREME_TRACE_LIMIT",
                                        bytes >> 20));
    const Trace trace = read_trace(parts);
    // Under another name first, so that nobody takes half a file for a trace.
    const std::filesystem::path unfinished = result.string() + ".unfinished";
    {
        std::ofstream out(unfinished, std::ios::trunc);
        write_chrome_trace(trace, out);
        out.close();
        if (!out)
            throw Error(ErrorCode::system, fmt::format("cannot write {}", unfinished.string()));
    }
    std::filesystem::rename(unfinished, result, error);
    if (error)
        throw Error(ErrorCode::system,
                    fmt::format("cannot write {}: {}", result.string(), error.message()));
}

}  // namespace trireme
