#include "summary.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace trireme::tool {
namespace {

std::string end_text(const RankEnd& end) {
    if (end.stopped_by != 0 && end.ending.by_signal && end.ending.value == end.stopped_by) {
        return fmt::format("was stopped by the launcher ({})", signal_name(end.ending.value));
    }
    if (end.stopped_by != 0) {
        return fmt::format("{} after the launcher's {}", describe(end.ending),
                           signal_name(end.stopped_by));
    }
    return describe(end.ending);
}

std::string range(std::size_t first, std::size_t last) {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

}  // namespace

std::string rank_ranges(const std::vector<int>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t last = i;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ", ") +
                range(static_cast<std::size_t>(ranks[i]), static_cast<std::size_t>(ranks[last]));
        i = last + 1;
    }
    return text;
}

std::vector<std::string> summary_table(const std::vector<RankEnd>& ends,
                                       std::optional<int> first_failure) {
    std::vector<std::string> lines{fmt::format("  {:>9}  {:>8}  {}", "rank", "pid", "end")};
    const auto is_first_failure = [&](std::size_t rank) {
        return first_failure && static_cast<std::size_t>(*first_failure) == rank;
    };
    for (std::size_t rank = 0; rank < ends.size();) {
        const std::string text = end_text(ends[rank]);
        std::size_t last = rank;
        while (!is_first_failure(rank) && last + 1 < ends.size() && !is_first_failure(last + 1) &&
               end_text(ends[last + 1]) == text) {
            ++last;
        }
        const std::string pid = last == rank ? std::to_string(ends[rank].pid) : "";
        lines.push_back(fmt::format("{} {:>9}  {:>8}  {}{}", is_first_failure(rank) ? '>' : ' ',
                                    range(rank, last), pid, text,
                                    is_first_failure(rank) ? "  <- first failure" : ""));
        rank = last + 1;
    }
    return lines;
}

}  // namespace trireme::tool
