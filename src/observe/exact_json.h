#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trireme {

/// Reads JSON in which all numbers are whole. Others are left out, as if they had not been written:
/// one that does not fit into the integer that it is read into would be undefined behaviour.
template <class Json>
[[nodiscard]] Json parse_exact(const std::string& text, bool throws) {
    const auto keep = [](int, typename Json::parse_event_t event, Json& value) {
        return event != Json::parse_event_t::value || !value.is_number_float();
    };
    return Json::parse(text, keep, throws);
}

}  // namespace trireme
