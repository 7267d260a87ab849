#include "observe/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

#include "observe/exact_json.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using nlohmann::json;

// Far from where sums of them overflow, whatever a file says.
std::int64_t time_in(const json& value) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    return std::clamp(value.get<std::int64_t>(), -most, most);
}

class TraceReader {
public:
    explicit TraceReader(Trace& trace) : trace_(trace) { static_cast<void>(number_of("")); }

    void read(const std::filesystem::path& path) {
        std::ifstream file(path);
        std::string text;
        if (!std::getline(file, text))
            throw Error(ErrorCode::system,
                        fmt::format("cannot read a trace's part from {}", path.string()));
        const json head = parse_exact<json>(text, false);
        if (!head.is_object() || head.value("trireme", json()) != 1 ||
            !head.value("rank", json()).is_number_integer() || head["rank"] < 0)
            throw Error(ErrorCode::system, fmt::format("{} is no part of a trace", path.string()));
        rank_ = head["rank"];
        open_.clear();
        TraceRank& rank = trace_.ranks[rank_];
        const auto first = static_cast<std::ptrdiff_t>(trace_.slices.size());
        try {
            rank.host = head.value("host", "");
            rank.pid = head.value("pid", std::int64_t{0});
            while (std::getline(file, text)) read_line(text, rank);
        } catch (const json::exception&) {
            ++trace_.unreadable;  // a head with a strange host
        }
        finish(rank, first);
    }

private:
    void read_line(const std::string& text, TraceRank& rank) {
        const json line = parse_exact<json>(text, false);
        try {
            if (!line.is_object())
                ++trace_.unreadable;
            else if (line.contains("n"))
                read_operation(line, rank);
            else if (line.contains("group"))
                trace_.groups[line.at("group")] = {line.at("name"), line.at("ranks")};
            else if (line.contains("offset"))
                read_offset(line.at("offset"), rank);
            else if (line.contains("lost"))
                forget(line.at("lost"));
            else if (line.contains("missed"))
                rank.gaps.emplace_back(time_in(line.at("at")), line.at("missed"));
            else if (line.contains("closed"))
                rank.closed = true;
        } catch (const json::exception&) {
            ++trace_.unreadable;
        }
    }

    // Numbers begin at 1: it is taken out at the end.
    void forget(std::uint64_t number) {
        if (const auto known = open_.find(number); known != open_.end())
            trace_.slices[known->second].number = 0;
    }

    static void read_offset(const json& three, TraceRank& rank) {
        rank.offsets.push_back({.at = time_in(three.at(0)),
                                .offset = time_in(three.at(1)),
                                .uncertainty = time_in(three.at(2))});
    }

    void read_operation(const json& line, TraceRank& rank) {
        TraceSlice slice{.number = line.at("n"),
                         .begun = time_in(line.at("b")),
                         .ended = line.contains("e") ? time_in(line.at("e")) : 0,
                         .sequence = line.at("q"),
                         .count = line.value("c", std::uint64_t{0}),
                         .bytes = line.value("bytes", std::uint64_t{0}),
                         .group = line.at("g"),
                         .rank = rank_,
                         .peer = line.value("p", -1),
                         .tag = line.value("t", 0),
                         .kind = number_of(line.at("k")),
                         .dtype = number_of(line.value("d", "")),
                         .reduce = number_of(line.value("r", "")),
                         .algorithm = number_of(line.value("a", "")),
                         .site = number_of(line.value("s", "")),
                         .is_over = line.contains("e"),
                         .well = line.value("ok", false)};
        if (slice.is_over) slice.ended = std::max(slice.ended, slice.begun);
        rank.last = std::max({rank.last, slice.begun, slice.ended});
        // Its second line, where the first was written while it was under way.
        if (const auto known = open_.find(slice.number); known != open_.end()) {
            trace_.slices[known->second] = slice;
            return;
        }
        if (!slice.is_over) open_.emplace(slice.number, trace_.slices.size());
        trace_.slices.push_back(slice);
    }

    // Times on the clock of rank 0; what has not ended lasts as long as the rank is known.
    void finish(TraceRank& rank, std::ptrdiff_t first) {
        for (auto& [at, count] : rank.gaps) {
            rank.last = std::max(rank.last, at);
            rank.missed += count;
            at = on_other_clock(at, rank.offsets);
        }
        trace_.slices.erase(
            std::remove_if(trace_.slices.begin() + first, trace_.slices.end(),
                           [](const TraceSlice& slice) { return slice.number == 0; }),
            trace_.slices.end());
        for (auto slice = trace_.slices.begin() + first; slice != trace_.slices.end(); ++slice) {
            if (!slice->is_over) slice->ended = rank.last;
            slice->begun = on_other_clock(slice->begun, rank.offsets);
            slice->ended = on_other_clock(slice->ended, rank.offsets);
        }
        rank.last = on_other_clock(rank.last, rank.offsets);
    }

    std::uint32_t number_of(const std::string& name) {
        const auto [known, is_new] =
            numbers_.emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
        if (is_new) trace_.names.push_back(name);
        return known->second;
    }

    Trace& trace_;
    int rank_ = 0;
    std::unordered_map<std::uint64_t, std::size_t> open_;  // by number: where the slice is
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Each goes into the lowest lane that is free when it begins.
void assign_lanes(std::vector<TraceSlice>& sorted) {
    std::vector<std::int64_t> busy;  // until when
    const TraceSlice* previous = nullptr;
    for (TraceSlice& slice : sorted) {
        if (previous == nullptr || previous->rank != slice.rank || previous->group != slice.group)
            busy.clear();
        previous = &slice;
        const auto free =
            std::ranges::find_if(busy, [&](std::int64_t until) { return until <= slice.begun; });
        slice.lane = static_cast<std::int32_t>(free - busy.begin());
        if (free == busy.end())
            busy.push_back(slice.ended);
        else
            *free = slice.ended;
    }
}

}  // namespace

Trace read_trace(const std::vector<std::filesystem::path>& parts) {
    Trace trace;
    TraceReader reader(trace);
    for (const std::filesystem::path& part : parts) reader.read(part);
    std::ranges::sort(trace.slices, {}, [](const TraceSlice& slice) {
        return std::tuple(slice.rank, slice.group, slice.begun, slice.number);
    });
    assign_lanes(trace.slices);
    return trace;
}

}  // namespace trireme
