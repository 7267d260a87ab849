#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "trireme/types.h"

namespace trireme::store {

/// Limits that every store enforces, so that what works in one works in all of them.
inline constexpr std::size_t max_key_size = std::size_t{4} << 10;
inline constexpr std::size_t max_value_size = std::size_t{64} << 20;

/// Throw `Error(invalid_argument)` where a limit is passed.
void check_key(std::string_view key);
void check_keys(std::span<const std::string> keys);
void check_value(std::string_view key, std::string_view value);

/// `key` in quotes, for error texts: unprintable bytes escaped, long keys cut.
[[nodiscard]] std::string in_quotes(std::string_view key);

/// `'a', 'b' and 5 more`.
[[nodiscard]] std::string listed(std::span<const std::string> keys);

/// `1.5 s`, `300 s`, `20 ms`.
[[nodiscard]] std::string text(Timeout timeout);

/// Throws the `Error(timeout)` of a wait: every store words it alike.
[[noreturn]] void throw_wait_timeout(std::string_view store, std::span<const std::string> missing,
                                     Timeout timeout);

}  // namespace trireme::store
