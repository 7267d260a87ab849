#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "figure_text.h"
#include "markup.h"
#include "page_chart.h"
#include "page_parts.h"

namespace trireme::bench {
namespace {

// Where our own curves begin, peers' come after them.
constexpr const char* name_of_ours = "Trireme";
constexpr const char* name_of_shared = "Trireme, shared";
constexpr const char* name_of_limit = "memory limit";

std::string style_of_peer(const std::string& name) {
    if (name.starts_with("openmpi")) return "peer0";
    if (name.starts_with("mpich")) return "peer1";
    if (name.starts_with("gloo")) return "peer2";
    return "peer3";
}

// A barrier has no sizes: it is drawn over the number of ranks.
bool has_sizes(const OperationRows& operation) {
    return std::ranges::any_of(operation.rows, [](const ResultRow& row) { return row.bytes > 0; });
}

double x_of_row(const ResultRow& row, bool over_ranks) {
    return over_ranks ? row.ranks : static_cast<double>(std::max<std::uint64_t>(row.bytes, 1));
}

class CurveSet {
public:
    explicit CurveSet(bool over_ranks) : over_ranks_(over_ranks) {}

    void add(const ResultRow& row) {
        const double x = x_of_row(row, over_ranks_);
        const bool shared = row.buffers == "shared";
        if (row.ours) {
            auto& series = shared ? shared_ : user_;
            series.times[x] = *row.ours;
            if (row.wrong.value_or(0) > 0) series.wrong.insert(x);
        }
        for (const auto& [name, time] : row.peers) {
            // Peers know no shared buffers: their figures beside the user's ones are the ones to
            // show.
            if (shared) {
                peers_[name].times.try_emplace(x, time);
            } else {
                peers_[name].times[x] = time;
            }
        }
    }

    void add_limit(const ResultRow& row, const LimitTime& limit) {
        const double x = x_of_row(row, over_ranks_);
        if (const auto time = limit.of(row, static_cast<double>(row.bytes))) {
            limit_.times[x] = *time;
            some_row_ = row;
        }
    }

    [[nodiscard]] std::vector<Curve> curves(const LimitTime& limit) const {
        std::vector<Curve> result;
        if (!limit_.times.empty()) {
            result.push_back(curve_of(name_of_limit, "limit", limit_));
            result.back().fill = dense(limit);
        }
        for (const auto& [name, series] : peers_) {
            result.push_back(curve_of(name, style_of_peer(name), series));
        }
        if (!user_.times.empty()) result.push_back(curve_of(name_of_ours, "user", user_));
        if (!shared_.times.empty()) result.push_back(curve_of(name_of_shared, "shared", shared_));
        return result;
    }

private:
    struct Series {
        std::map<double, double> times;
        std::set<double> wrong;
    };

    static Curve curve_of(const std::string& name, const std::string& style, const Series& series) {
        return {.name = name,
                .style = style,
                .points = {series.times.begin(), series.times.end()},
                .wrong_at = {series.wrong.begin(), series.wrong.end()},
                .fill = {}};
    }

    // The limit bends between the sizes that were measured.
    [[nodiscard]] std::vector<std::pair<double, double>> dense(const LimitTime& limit) const {
        if (over_ranks_) return {limit_.times.begin(), limit_.times.end()};
        std::vector<std::pair<double, double>> line;
        const double last = limit_.times.rbegin()->first;
        for (double x = limit_.times.begin()->first; x < last; x *= std::sqrt(2.0)) {
            line.emplace_back(x, limit.of(*some_row_, x).value_or(1));
        }
        line.emplace_back(*limit_.times.rbegin());
        return line;
    }

    bool over_ranks_;
    Series user_;
    Series shared_;
    Series limit_;
    std::optional<ResultRow> some_row_;
    std::map<std::string, Series> peers_;
};

// "1.1 to 3.4 times the best peer": what one would look for in the curves.
std::string span_of_ratios(const ResultList& rows) {
    std::optional<double> least;
    std::optional<double> most;
    for (const ResultRow& row : rows) {
        if (const auto ratio = row.ratio()) {
            least = std::min(least.value_or(*ratio), *ratio);
            most = std::max(most.value_or(*ratio), *ratio);
        }
    }
    return least ? fmt::format("best peer / ours: {} to {}", ratio_text(*least), ratio_text(*most))
                 : "";
}

std::string chart_card(const std::string& title, const ResultList& rows, bool over_ranks,
                       ChartFrame frame, const LimitTime& limit) {
    CurveSet set(over_ranks);
    for (const ResultRow& row : rows) {
        set.add(row);
        set.add_limit(row, limit);
    }
    frame.over_ranks = over_ranks;
    return fmt::format("<div class=\"card\"><h4>{}<span>{}</span></h4>\n{}</div>\n", title,
                       span_of_ratios(rows), chart_svg(set.curves(limit), frame));
}

// The same axes for all charts of an operation, so that they can be compared.
ChartFrame frame_of(const OperationRows& operation, bool over_ranks, const LimitTime& limit) {
    ChartFrame frame{.least_x = HUGE_VAL, .most_x = 0, .least_time = HUGE_VAL, .most_time = 0};
    const auto reach = [&frame](const ResultRow& row, double time, bool ranks) {
        frame.least_x = std::min(frame.least_x, x_of_row(row, ranks));
        frame.most_x = std::max(frame.most_x, x_of_row(row, ranks));
        frame.least_time = std::min(frame.least_time, time);
        frame.most_time = std::max(frame.most_time, time);
    };
    for (const ResultRow& row : operation.rows) {
        if (row.ours) reach(row, *row.ours, over_ranks);
        for (const auto& [name, time] : row.peers) reach(row, time, over_ranks);
        if (const auto time = limit.of(row, static_cast<double>(row.bytes))) {
            reach(row, *time, over_ranks);
        }
    }
    return frame.most_time > 0 ? frame : ChartFrame{};
}

std::string charts_of(const OperationRows& operation, const LimitTime& limit) {
    const bool over_ranks = !has_sizes(operation);
    const ChartFrame frame = frame_of(operation, over_ranks, limit);
    std::string html =
        fmt::format("<h3>{}</h3>\n<div class=\"charts\">\n", escaped_markup(operation.title()));
    if (over_ranks) {
        html += chart_card("by number of ranks", operation.rows, true, frame, limit);
    } else {
        std::map<int, ResultList> by_ranks;
        for (const ResultRow& row : operation.rows) by_ranks[row.ranks].push_back(row);
        for (const auto& [ranks, rows] : by_ranks) {
            html += chart_card(fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"), rows, false,
                               frame, limit);
        }
    }
    return html + "</div>\n";
}

std::string legend_entry(const std::string& style, const std::string& name) {
    return fmt::format(
        R"(<span><svg viewBox="0 0 34 14"><g class="curve {0}"><polyline points="0,7 34,7"/>{1}</g></svg>{2}</span>)",
        style, style == "limit" ? "" : curve_sign(style, 17, 7), escaped_markup(name));
}

}  // namespace

std::string curves_part(const std::vector<OperationRows>& operations, const LimitTime& limit) {
    std::set<std::string> peers;
    bool user = false;
    bool shared = false;
    bool limited = false;
    for (const OperationRows& operation : operations) {
        for (const ResultRow& row : operation.rows) {
            (row.buffers == "shared" ? shared : user) |= row.ours.has_value();
            limited |= limit.of(row, static_cast<double>(row.bytes)).has_value();
            for (const auto& [name, time] : row.peers) peers.insert(name);
        }
    }
    std::string html =
        "<h2>Time over size</h2>\n"
        "<p class=\"soft\">Medians; both axes logarithmic, the same for all charts of an "
        "operation. "
        "Lower is better. Point at a size for the values there.</p>\n"
        "<div class=\"legend card\">";
    if (user) html += legend_entry("user", "Trireme");
    if (shared) html += legend_entry("shared", "Trireme, buffers from group.allocate");
    for (const std::string& name : peers) html += legend_entry(style_of_peer(name), name);
    if (limited)
        html += legend_entry("limit", "memory limit: a plain copy of as many bytes, by all cores");
    html += "</div>\n";
    for (const OperationRows& operation : operations) html += charts_of(operation, limit);
    return html;
}

}  // namespace trireme::bench
