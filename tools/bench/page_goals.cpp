#include <array>
#include <optional>

#include <fmt/format.h>

#include "figure_text.h"
#include "goals.h"
#include "markup.h"
#include "page_parts.h"

namespace trireme::bench {
namespace {

// How often a goal was reached, and where it was missed most.
struct GoalCount {
    std::size_t rows = 0;
    std::size_t reached = 0;
    double least = 0;  // ratio over goal
    std::string where;

    void add(const ResultRow& row, double ratio, double wanted) {
        const bool wrong = row.wrong.value_or(0) > 0;
        reached += ratio >= wanted && !wrong ? 1 : 0;
        const double part = wrong ? 0 : ratio / wanted;  // nothing is worse than a wrong result
        if (rows++ == 0 || part < least) {
            least = part;
            where = fmt::format("{}: {}, {}", wrong ? "WRONG" : "least " + ratio_text(ratio),
                                row.op, case_text(row));
        }
    }
};

// With two ranks, and with more.
using GoalCounts = std::vector<std::array<GoalCount, 2>>;

GoalCounts count_goals(const ResultList& rows) {
    GoalCounts counts(goals().size());
    for (const ResultRow& row : rows) {
        for (const Rival rival : {Rival::mpi, Rival::gloo}) {
            const auto goal = goal_of(row, rival);
            const auto best = best_rival(row, rival);
            if (goal && best && row.ours) {
                counts[*goal]
                    .at(row.ranks == 2 ? 0 : 1)
                    .add(row, best->time / *row.ours, goal_ratio(goals()[*goal], row));
            }
        }
    }
    return counts;
}

std::string goal_cell(const GoalCount& count, double wanted) {
    if (count.rows == 0) return "<td class=\"free\">not measured</td>";
    return fmt::format(
        R"(<td><span class="bar{}"><i style="width:{}%"></i></span><b>{} / {}</b>≥ {:.4g}<span>{}</span></td>)",
        count.reached == count.rows ? "" : " short", 100 * count.reached / count.rows,
        count.reached, count.rows, wanted, escaped_markup(count.where));
}

}  // namespace

std::string goals_part(const ResultList& rows) {
    const GoalCounts counts = count_goals(rows);
    std::size_t all = 0;
    std::size_t reached = 0;
    std::string lines;
    std::optional<Rival> last;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto& [two, more] = counts[i];
        if (two.rows + more.rows == 0) continue;
        const Goal& goal = goals()[i];
        const std::string rival =
            goal.rival == Rival::mpi ? "against the best MPI" : "against Gloo";
        all += two.rows + more.rows;
        reached += two.reached + more.reached;
        if (last != goal.rival) {
            lines += fmt::format(
                "<tr class=\"first\"><th class=\"free\">{}</th><td></td><td></td></tr>\n", rival);
        }
        last = goal.rival;
        lines += fmt::format("<tr><th>{}</th>{}{}</tr>\n", escaped_markup(goal.text),
                             goal_cell(two, goal.a_core_each), goal_cell(more, goal.more_ranks));
    }
    if (all == 0) {
        return "<h2>Goals</h2>\n<p class=\"soft\">No row of this report has one.</p>\n";
    }
    return fmt::format(
        "<h2>Goals: {} of {} reached</h2>\n<div class=\"card scroll\"><table class=\"goals\">\n"
        "<thead><tr><th></th><th style=\"text-align:left\">2 ranks</th>"
        "<th style=\"text-align:left\">more "
        "ranks</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        reached, all, lines);
}

}  // namespace trireme::bench
