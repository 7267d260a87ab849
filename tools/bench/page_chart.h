#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trireme::bench {

/// A curve of times over sizes (or over numbers of ranks).
struct Curve {
    std::string name;
    std::string style;                              ///< class of the style sheet
    std::vector<std::pair<double, double>> points;  ///< x and microseconds, both positive; x rises
    std::vector<double> wrong_at;                   ///< x of points whose results were wrong
    std::vector<std::pair<double, double>> fill;    ///< more of the line, between its points
};

struct ChartFrame {
    double least_x = 1;
    double most_x = 1;
    double least_time = 1;  ///< microseconds
    double most_time = 1;
    bool over_ranks = false;  ///< x is a number of ranks instead of bytes
};

/// A picture with logarithmic axes. Above each x lies an area that carries all values there as
/// "data-tip".
[[nodiscard]] std::string chart_svg(const std::vector<Curve>& curves, const ChartFrame& frame);

/// The sign that stands for a curve in charts and legends, around (x, y).
[[nodiscard]] std::string curve_sign(const std::string& style, double x, double y);

}  // namespace trireme::bench
