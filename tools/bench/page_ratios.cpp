#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "figure_text.h"
#include "goals.h"
#include "markup.h"
#include "page_parts.h"

namespace trireme::bench {
namespace {

constexpr double nearly = 0.9;  // of a goal

struct RatioCell {
    std::string style;
    std::string text;
};

// Reached, nearly, missed; or free of any goal.
std::string cell_style(double ratio, const std::optional<std::size_t>& goal, const ResultRow& row) {
    if (!goal) return "free";
    const double wanted = goal_ratio(goals()[*goal], row);
    return ratio >= wanted ? "good" : ratio >= nearly * wanted ? "near" : "miss";
}

std::string cell_tip(const OperationRows& operation, const ResultRow& row, Rival rival) {
    std::string tip = operation.title() + ", " + case_text(row);
    const auto add = [&tip](const std::string& name, const std::string& value) {
        tip += fmt::format("\n{:<12} {:>9}", name, value);
    };
    if (row.ours) add("Trireme", time_text(*row.ours));
    if (row.ours_min) add("  least", time_text(*row.ours_min));
    if (row.ours_p90) add("  p90", time_text(*row.ours_p90));
    for (const auto& [name, time] : row.peers) add(name, time_text(time));
    const auto best = best_rival(row, rival);
    if (best && row.ours) add("ratio", ratio_text(best->time / *row.ours) + "   ");
    if (const auto goal = goal_of(row, rival)) {
        add("goal", ratio_text(goal_ratio(goals()[*goal], row)) + "   ");
    }
    for (const auto& [name, why] : row.left_out) tip += fmt::format("\n{}: {}", name, why);
    if (row.wrong.value_or(0) > 0) tip += fmt::format("\nWRONG: {} values", *row.wrong);
    return tip;
}

std::string ratio_cell(const OperationRows& operation, const ResultRow* row, Rival rival,
                       std::size_t columns, bool first) {
    const std::string span = columns > 1 ? fmt::format(" colspan=\"{}\"", columns) : "";
    const std::string gap = first ? " gap" : "";
    if (row == nullptr) return fmt::format("<td class=\"free{}\"{}></td>", gap, span);
    const std::string tip = escaped_markup(cell_tip(operation, *row, rival));
    if (row->wrong.value_or(0) > 0) {
        return fmt::format(R"(<td class="bad{}"{} data-tip="{}">WRONG</td>)", gap, span, tip);
    }
    const auto best = best_rival(*row, rival);
    if (!best || !row->ours) {
        return fmt::format(R"(<td class="free{}"{} data-tip="{}">–</td>)", gap, span, tip);
    }
    const double ratio = best->time / *row->ours;
    return fmt::format(R"(<td class="{}{}"{} data-tip="{}">{}</td>)",
                       cell_style(ratio, goal_of(*row, rival), *row), gap, span, tip,
                       ratio_text(ratio));
}

class RatioTable {
public:
    explicit RatioTable(const std::vector<OperationRows>& operations) : operations_(operations) {
        for (const OperationRows& operation : operations) {
            for (const ResultRow& row : operation.rows) {
                if (row.bytes > 0) sizes_.insert(row.bytes);
                for (const Rival rival : {Rival::mpi, Rival::gloo}) {
                    if (best_rival(row, rival)) rivals_.insert(rival);
                }
            }
        }
        if (sizes_.empty()) sizes_.insert(0);
    }

    [[nodiscard]] std::string html() const {
        std::string html = "<div class=\"card scroll\"><table class=\"ratios\">\n" + head();
        html += "<tbody>\n";
        for (const OperationRows& operation : operations_) html += lines_of(operation);
        return html + "</tbody></table></div>\n";
    }

private:
    [[nodiscard]] std::string head() const {
        std::string over = "<thead><tr><th></th>";
        std::string sizes = "<tr><th>operation, ranks, buffers</th>";
        const std::size_t width = 84 / std::max<std::size_t>(rivals_.size() * sizes_.size(), 1);
        for (const Rival rival : rivals_) {
            over += fmt::format(R"(<th class="over gap" colspan="{}">{}</th>)", sizes_.size(),
                                rival == Rival::mpi ? "best MPI / ours" : "Gloo / ours");
            for (const std::uint64_t size : sizes_) {
                sizes += fmt::format(R"(<th{} style="width:{}%">{}</th>)",
                                     size == *sizes_.begin() ? " class=\"gap\"" : "", width,
                                     bytes_text(size));
            }
        }
        return over + "</tr>\n" + sizes + "</tr></thead>\n";
    }

    [[nodiscard]] std::string lines_of(const OperationRows& operation) const {
        using Key = std::tuple<int, bool>;  // ranks, shared
        std::map<Key, std::map<std::uint64_t, const ResultRow*>> lines;
        for (const ResultRow& row : operation.rows) {
            lines[{row.ranks, row.buffers == "shared"}][row.bytes] = &row;
        }
        std::string html;
        for (const auto& [key, cells] : lines) {
            const auto& [ranks, shared] = key;
            html += fmt::format(R"(<tr{}><th><b>{}</b><i>{}{}</i></th>)",
                                html.empty() ? " class=\"first\"" : "",
                                html.empty() ? escaped_markup(operation.title()) : "", ranks,
                                shared ? " shared" : "");
            for (const Rival rival : rivals_) html += cells_of(operation, cells, rival);
            html += "</tr>\n";
        }
        return html;
    }

    [[nodiscard]] std::string cells_of(const OperationRows& operation,
                                       const std::map<std::uint64_t, const ResultRow*>& cells,
                                       Rival rival) const {
        if (cells.size() == 1 && cells.begin()->first == 0) {
            // Without a size: across all of them.
            return ratio_cell(operation, cells.begin()->second, rival, sizes_.size(), true);
        }
        std::string html;
        for (const std::uint64_t size : sizes_) {
            const auto found = cells.find(size);
            html += ratio_cell(operation, found == cells.end() ? nullptr : found->second, rival, 1,
                               size == *sizes_.begin());
        }
        return html;
    }

    const std::vector<OperationRows>& operations_;
    std::set<std::uint64_t> sizes_;
    std::set<Rival> rivals_;
};

}  // namespace

std::string ratios_part(const std::vector<OperationRows>& operations) {
    return "<h2>Ratios</h2>\n"
           "<p class=\"soft\">A peer's median over ours, in one run: 2 means that ours takes half "
           "the "
           "time. <span class=\"key good\">reaches its goal</span> "
           "<span class=\"key near\"> within a tenth of it</span> "
           "<span class=\"key miss\"> falls short</span> others have no goal.</p>\n" +
           RatioTable(operations).html();
}

}  // namespace trireme::bench
