#include "trace_svg.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "markup.h"

namespace trireme::tool {
namespace {

constexpr double svg_width = 960;
constexpr double svg_left = 150;
constexpr double row_height = 22;
constexpr std::array svg_colors{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2"};

}  // namespace

std::string trace_svg(const nlohmann::json& trace) {
    struct Row {
        std::string title;
        std::size_t number = 0;
    };
    std::map<std::pair<int, int>, Row> rows;  // by rank and track
    std::map<std::string, std::size_t> colors;
    double span = 0;
    for (const auto& event : trace.at("traceEvents")) {
        const std::string& name = event.at("name").get_ref<const std::string&>();
        if (name == "thread_name") {
            const int rank = event.at("pid");
            rows[{rank, event.at("tid")}].title =
                fmt::format("rank {}, {}", rank, event.at("args").at("name").get<std::string>());
        } else if (event.at("ph") == "X") {
            span = std::max(span, event.at("ts").get<double>() + event.at("dur").get<double>());
            colors.try_emplace(event.at("cat"), colors.size());
        }
    }
    std::string body;
    const auto put = [&](const std::string& line) { body += line + "\n"; };
    std::size_t count = 0;
    for (auto& [key, row] : rows) {
        row.number = count++;
        put(fmt::format(R"(<text x="4" y="{}">{}</text>)",
                        static_cast<double>(row.number) * row_height + 15,
                        escaped_markup(row.title)));
    }
    const double scale = (svg_width - svg_left - 10) / std::max(span, 1e-3);
    for (const auto& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X") {
            continue;
        }
        const double x = svg_left + event.at("ts").get<double>() * scale;
        const double width = std::max(event.at("dur").get<double>() * scale, 1.0);
        const std::string title = escaped_markup(event.at("name").get<std::string>());
        const Row& row = rows.at({event.at("pid"), event.at("tid")});
        const double y = static_cast<double>(row.number) * row_height;
        put(fmt::format(
            R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}" stroke="white" stroke-width="0.3">)"
            R"(<title>{}, {:.1f} us, {}</title></rect>)",
            x, y + 2, width, row_height - 4,
            svg_colors[colors.at(event.at("cat")) % svg_colors.size()], title,
            event.at("dur").get<double>(), escaped_markup(event.at("args").value("site", ""))));
        constexpr double letter = 6.2;
        if (width > letter * static_cast<double>(title.size()) + 4) {
            put(fmt::format(R"(<text x="{:.1f}" y="{}" fill="white">{}</text>)", x + 3, y + 15,
                            title));
        }
    }
    const double height = static_cast<double>(count) * row_height + 20;
    return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" )"
                       R"(font-family="monospace" font-size="10">)"
                       "\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}"
                       R"(<text x="{3}" y="{4}">{5:.3f} ms</text>)"
                       "\n</svg>\n",
                       svg_width, height, body, svg_left, height - 6, span / 1e3);
}

}  // namespace trireme::tool
