#include "line_printer.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

namespace trireme::tool {
namespace {

// Foreground colours that can be read on dark and on light ground; neighbours differ.
constexpr std::array<int, 10> colors{36, 33, 32, 35, 34, 96, 93, 92, 95, 94};

}  // namespace

LinePrinter::LinePrinter(Output& output, int ranks, Style style)
    : output_(output), width_(static_cast<int>(std::to_string(ranks - 1).size())), style_(style) {}

void LinePrinter::print(int rank, Channel channel, const Piece& piece) {
    line_.clear();
    if (style_.prefix) {
        const char mark = piece.continues ? '+' : ' ';
        if (channel == Channel::out ? style_.color_out : style_.color_err) {
            const int color = colors[static_cast<std::size_t>(rank) % colors.size()];
            fmt::format_to(std::back_inserter(line_), "\x1b[{}m[{:>{}}]\x1b[0m{}", color, rank,
                           width_, mark);
        } else {
            fmt::format_to(std::back_inserter(line_), "[{:>{}}]{}", rank, width_, mark);
        }
    }
    line_ += piece.text;
    line_ += '\n';
    output_.write(channel, line_);
}

void LinePrinter::note(std::string_view text) {
    output_.write(Channel::err, fmt::format("trireme: {}\n", text));
}

}  // namespace trireme::tool
