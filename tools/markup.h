#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// For the contents of HTML and SVG elements, and their attributes in double quotes.
[[nodiscard]] inline std::string escaped_markup(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        switch (letter) {
            case '<': result += "&lt;"; break;
            case '>': result += "&gt;"; break;
            case '&': result += "&amp;"; break;
            case '"': result += "&quot;"; break;
            case '\'': result += "&#39;"; break;
            case '\n': result += "&#10;"; break;  // kept in attributes
            default: result += letter;
        }
    }
    return result;
}

}  // namespace trireme
