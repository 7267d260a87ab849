#include "store/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "trireme/error.h"

namespace trireme::store {

void check_key(std::string_view key) {
    if (key.size() > max_key_size) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a store's key may have {} bytes, this one has {}: {}",
                                max_key_size, key.size(), in_quotes(key)));
    }
}

void check_keys(std::span<const std::string> keys) {
    for (const std::string& key : keys) {
        check_key(key);
    }
}

void check_value(std::string_view key, std::string_view value) {
    if (value.size() > max_value_size) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a store's value may have {} bytes, that of {} has {}",
                                max_value_size, in_quotes(key), value.size()));
    }
}

std::string in_quotes(std::string_view key) {
    constexpr std::size_t shown = 120;
    std::string out = "'";
    for (const char c : key.substr(0, shown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
            out += c;
        } else {
            out += fmt::format("\\x{:02x}", byte);
        }
    }
    return out + (key.size() > shown ? "'..." : "'");
}

std::string listed(std::span<const std::string> keys) {
    constexpr std::size_t shown = 8;
    std::string out;
    for (std::size_t i = 0; i < std::min(shown, keys.size()); ++i) {
        out += (i == 0 ? "" : ", ") + in_quotes(keys[i]);
    }
    return keys.size() > shown ? fmt::format("{} and {} more", out, keys.size() - shown) : out;
}

std::string text(Timeout timeout) {
    const auto ms = timeout.count();
    if (ms < 1000) {
        return fmt::format("{} ms", ms);
    }
    return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000)
                          : fmt::format("{:.1f} s", static_cast<double>(ms) / 1000.0);
}

void throw_wait_timeout(std::string_view store, std::span<const std::string> missing,
                        Timeout timeout) {
    throw Error(ErrorCode::timeout,
                fmt::format("{}: waited {} for key{} {}, which nobody has set", store,
                            text(timeout), missing.size() == 1 ? "" : "s", listed(missing)));
}

}  // namespace trireme::store
