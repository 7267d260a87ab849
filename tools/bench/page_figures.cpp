#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "figure_text.h"
#include "markup.h"
#include "page_parts.h"

namespace trireme::bench {
namespace {

std::string time_cell(const std::optional<double>& time) {
    return fmt::format("<td>{}</td>", time ? time_text(*time) : "–");
}

std::string figures_line(const OperationRows& operation, const ResultRow& row,
                         const std::set<std::string>& peers, bool first) {
    std::string html = fmt::format(
        "<tr{}><th>{}</th><td>{}</td><td>{}</td><td>{}</td>", first ? " class=\"first\"" : "",
        escaped_markup(operation.title()), row.ranks, bytes_text(row.bytes), row.buffers);
    html += time_cell(row.ours_min) + time_cell(row.ours) + time_cell(row.ours_p90);
    for (const std::string& name : peers) {
        const auto found = row.peers.find(name);
        html += time_cell(found == row.peers.end() ? std::nullopt : std::optional(found->second));
    }
    const auto ratio = row.ratio();
    html += fmt::format("<td>{}</td>", ratio ? ratio_text(*ratio) : "–");
    const bool wrong = row.wrong.value_or(0) > 0;
    html += fmt::format("<td{}>{}</td></tr>\n", wrong ? " class=\"bad\"" : "",
                        row.wrong ? fmt::format("{}", *row.wrong) : "not checked");
    return html;
}

}  // namespace

std::string figures_part(const std::vector<OperationRows>& operations) {
    std::set<std::string> peers;
    for (const OperationRows& operation : operations) {
        for (const ResultRow& row : operation.rows) {
            for (const auto& [name, time] : row.peers) peers.insert(name);
        }
    }
    std::string html =
        "<h2>All figures</h2>\n<details><summary>Every row of the report</summary>\n"
        "<div class=\"card "
        "scroll\"><table>\n<thead><tr><th>operation</th><th>ranks</th><th>size</th>"
        "<th>buffers</th><th>least</th><th>median</th><th>p90</th>";
    for (const std::string& name : peers) {
        html += fmt::format("<th>{}</th>", escaped_markup(name));
    }
    html += "<th>ratio</th><th>wrong</th></tr></thead>\n<tbody>\n";
    for (const OperationRows& operation : operations) {
        bool first = true;
        for (const ResultRow& row : operation.rows) {
            html += figures_line(operation, row, peers, first);
            first = false;
        }
    }
    return html + "</tbody></table></div></details>\n";
}

std::string limits_part(const nlohmann::json& limits) {
    std::string tiles;
    if (limits.is_object()) {
        for (const auto& [name, value] : limits.items()) {
            if (!value.is_object() || !value.value("best", nlohmann::json()).is_number() ||
                !value.value("unit", nlohmann::json()).is_string()) {
                continue;
            }
            const auto about = value.value("about", nlohmann::json());
            const auto best = value["best"].get<double>();
            const auto unit = value["unit"].get<std::string>();
            tiles +=
                fmt::format("<div class=\"card\"><b>{} {}</b><span>{}</span></div>\n",
                            ratio_text(best), escaped_markup(unit),
                            escaped_markup(about.is_string() ? about.get<std::string>() : name));
        }
    }
    if (tiles.empty()) return "";
    return "<h2>This machine's limits</h2>\n<p class=\"soft\">The best of several rounds, by "
           "<code>trireme bench limits</code>.</p>\n<div class=\"tiles\">\n" +
           tiles + "</div>\n";
}

}  // namespace trireme::bench
