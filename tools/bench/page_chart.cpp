#include "page_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "figure_text.h"
#include "markup.h"

namespace trireme::bench {
namespace {

constexpr double chart_width = 430;
constexpr double chart_height = 270;
constexpr double plot_left = 50;
constexpr double plot_right = chart_width - 14;
constexpr double plot_top = 8;
constexpr double plot_bottom = chart_height - 24;

class ChartScale {
public:
    explicit ChartScale(const ChartFrame& frame)
        : left_(std::log2(frame.least_x) - 0.5),
          right_(std::log2(frame.most_x) + 0.5),
          low_(std::floor(std::log10(frame.least_time))),
          high_(std::max(low_ + 1, std::ceil(std::log10(frame.most_time)))) {}

    [[nodiscard]] double x(double value) const {
        return plot_left + (std::log2(value) - left_) / (right_ - left_) * (plot_right - plot_left);
    }
    [[nodiscard]] double y(double microseconds) const {
        const double part = (std::log10(microseconds) - low_) / (high_ - low_);
        return plot_bottom - std::clamp(part, 0.0, 1.0) * (plot_bottom - plot_top);
    }
    [[nodiscard]] int lowest_decade() const { return static_cast<int>(low_); }
    [[nodiscard]] int highest_decade() const { return static_cast<int>(high_); }

private:
    double left_;
    double right_;
    double low_;
    double high_;
};

std::string decade_text(int decade) {
    std::string text = time_text(std::pow(10.0, decade));
    const std::size_t space = text.find(' ');
    const std::size_t point = text.find('.');
    return point == std::string::npos ? text : text.substr(0, point) + text.substr(space);
}

std::string x_text(double x, const ChartFrame& frame) {
    if (frame.over_ranks) {
        return fmt::format("{} ranks", x);
    }
    return bytes_text(static_cast<std::uint64_t>(x));
}

std::string chart_axes(const ChartScale& scale, const ChartFrame& frame,
                       const std::set<double>& marks) {
    std::string svg;
    for (int decade = scale.lowest_decade(); decade <= scale.highest_decade(); ++decade) {
        const double y = scale.y(std::pow(10.0, decade));
        svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>)",
                           plot_left, plot_right, y, y);
        svg += fmt::format(R"(<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)",
                           plot_left - 6, y + 4, decade_text(decade));
    }
    double free_from = 0;
    for (const double mark : marks) {
        const double x = scale.x(mark);
        svg += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", x, x,
                           plot_bottom, plot_bottom + 4);
        // "256 KiB" as "256K", so that neighbours have room.
        std::string text = x_text(mark, frame);
        if (!frame.over_ranks) {
            const std::size_t space = text.find(' ');
            text =
                text.substr(0, space) + (text[space + 1] == 'B' ? " B" : text.substr(space + 1, 1));
        }
        constexpr double letter = 6.2;
        const double half = static_cast<double>(text.size()) * letter / 2;
        if (x - half < free_from) {
            continue;
        }
        free_from = x + half + letter;
        svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                           x, plot_bottom + 17, text);
    }
    return svg;
}

std::string curve_svg(const Curve& curve, const ChartScale& scale) {
    std::string line;
    for (const auto& [x, time] : curve.fill.empty() ? curve.points : curve.fill) {
        line += fmt::format("{:.1f},{:.1f} ", scale.x(x), scale.y(time));
    }
    std::string svg =
        fmt::format(R"(<g class="curve {}"><polyline points="{}"/>)", curve.style, line);
    for (const auto& [x, time] : curve.points) {
        if (curve.fill.empty()) {
            svg += curve_sign(curve.style, scale.x(x), scale.y(time));
        }
        if (std::ranges::find(curve.wrong_at, x) != curve.wrong_at.end()) {
            svg += fmt::format(
                R"(<path class="wrong" d="M{0:.1f} {1:.1f}m-8 -8l16 16m0 -16l-16 16"/>)",
                scale.x(x), scale.y(time));
        }
    }
    return svg + "</g>";
}

// All values at one x, the fastest first, in columns.
std::string tip_at(double x, const std::vector<Curve>& curves, const ChartFrame& frame) {
    struct Line {
        double time;
        std::string text;
    };
    std::vector<Line> lines;
    std::size_t width = 0;
    for (const Curve& curve : curves) {
        width = std::max(width, curve.name.size());
    }
    for (const Curve& curve : curves) {
        const auto point = std::ranges::find(curve.points, x, &std::pair<double, double>::first);
        if (point == curve.points.end()) {
            continue;
        }
        const bool wrong = std::ranges::find(curve.wrong_at, x) != curve.wrong_at.end();
        lines.push_back(
            {point->second, fmt::format("{:<{}}  {:>8}{}", curve.name, width,
                                        time_text(point->second), wrong ? "  WRONG" : "")});
    }
    std::ranges::sort(lines, {}, &Line::time);
    std::string text = x_text(x, frame);
    for (const Line& line : lines) {
        text += "\n" + line.text;
    }
    return text;
}

std::string hover_areas(const std::vector<Curve>& curves, const ChartScale& scale,
                        const ChartFrame& frame, const std::set<double>& marks) {
    std::string svg;
    for (auto mark = marks.begin(); mark != marks.end(); ++mark) {
        const double x = scale.x(*mark);
        const double from = mark == marks.begin() ? plot_left : (scale.x(*std::prev(mark)) + x) / 2;
        const double to =
            std::next(mark) == marks.end() ? plot_right : (scale.x(*std::next(mark)) + x) / 2;
        svg += fmt::format(
            R"(<g class="spot" data-tip="{}"><rect x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>)"
            R"(<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/></g>)",
            escaped_markup(tip_at(*mark, curves, frame)), from, plot_top, to - from,
            plot_bottom - plot_top, x, x, plot_top, plot_bottom);
        svg += '\n';
    }
    return svg;
}

}  // namespace

std::string curve_sign(const std::string& style, double x, double y) {
    // A shape for each, so that colours are not needed to tell them apart.
    const char* shape = "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z";  // disc
    if (style == "shared") {
        shape = "m0 -5l5 5l-5 5l-5 -5z";  // diamond
    } else if (style == "peer0") {
        shape = "m-3 -3h6v6h-6z";  // square
    } else if (style == "peer1") {
        shape = "m0 -4l4 7h-8z";  // triangle
    } else if (style == "peer2") {
        shape = "m0 4l4 -7h-8z";  // triangle upside down
    }
    return fmt::format(R"(<path class="sign" d="M{:.1f} {:.1f}{}"/>)", x, y, shape);
}

std::string chart_svg(const std::vector<Curve>& curves, const ChartFrame& frame) {
    std::set<double> marks;
    for (const Curve& curve : curves) {
        for (const auto& [x, time] : curve.points) {
            marks.insert(x);
        }
    }
    const ChartScale scale(frame);
    std::string svg =
        fmt::format(R"(<svg viewBox="0 0 {} {}" role="img">)", chart_width, chart_height);
    svg += chart_axes(scale, frame, marks) + '\n';
    for (const Curve& curve : curves) {
        svg += curve_svg(curve, scale) + '\n';
    }
    return svg + hover_areas(curves, scale, frame, marks) + "</svg>\n";
}

}  // namespace trireme::bench
