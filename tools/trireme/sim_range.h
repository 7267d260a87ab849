#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::tool {

/// The points of "8:64M", of "1000", or of "4,7,16K": a number may end in K, M or G (of 1024). A
/// range doubles from point to point, or grows by `factor` where that would be more than six, and
/// ends with its end. Throws `std::invalid_argument`, which names what is wrong.
[[nodiscard]] std::vector<std::size_t> parse_range(std::string_view text, std::size_t factor,
                                                   std::size_t least, std::size_t most);

/// "4 KiB", "1.5 MiB".
[[nodiscard]] std::string human_bytes(double bytes);

}  // namespace trireme::tool
