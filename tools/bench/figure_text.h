#pragma once

#include <cstdint>
#include <string>

namespace trireme::bench {

/// "85.0 ns", "2.17 µs", "14.3 ms": three digits and a unit of two letters or one.
[[nodiscard]] std::string time_text(double microseconds);

/// "8 B", "16 KiB", "1.5 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// "1.34", "21.3", "213".
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace trireme::bench
