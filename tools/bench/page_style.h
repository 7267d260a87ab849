#pragma once

#include <string_view>

namespace trireme::bench {

/// The style sheet of the page, for light and dark.
extern const std::string_view page_style;

/// Shows the "data-tip" of what the pointer is over, beside the pointer.
extern const std::string_view page_script;

}  // namespace trireme::bench
