#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace trireme::bench {

/// One HTML page, which needs nothing beside itself: how far the goals are reached, curves of time
/// over size per operation and number of ranks, the ratios, all figures. Wrong results stand on
/// top.
///
/// `report` is what `trireme bench --json` writes: an object with "rows", a text or an object
/// "machine", a text "date", what `measure_limits` gives as "limits", and any further texts and
/// numbers, which are shown as they are; or the rows alone. What cannot be read is left out, and
/// the page says so.
[[nodiscard]] std::string bench_page(const nlohmann::json& report);

/// `trireme bench page IN.json --html OUT.html`; argv[0] is the word "page". Returns the exit code.
[[nodiscard]] int page_command(int argc, char** argv);

}  // namespace trireme::bench
