#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "line_splitter.h"
#include "output.h"

namespace trireme::tool {

/// Gives each line its rank: "[3] text"; "[3]+text" where the line began before (see Piece).
/// The number is as wide as the largest one, and coloured where asked for.
class LinePrinter {
public:
    struct Style {
        bool prefix = true;
        bool color_out = false;
        bool color_err = false;
    };

    LinePrinter(Output& output, int ranks, Style style);

    void print(int rank, Channel channel, const Piece& piece);

    /// A line of the launcher itself, to stderr: "trireme: text".
    void note(std::string_view text);

    [[nodiscard]] const Output& output() const noexcept { return output_; }

private:
    Output& output_;
    int width_;
    Style style_;
    std::string line_;  // kept for its memory
};

}  // namespace trireme::tool
