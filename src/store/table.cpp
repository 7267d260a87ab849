#include "store/table.h"

#include <fmt/format.h>

#include <charconv>

#include "store/limits.h"
#include "trireme/error.h"

namespace trireme::store {

void Table::set(std::string_view key, std::string_view value) {
    auto shared = std::make_shared<const std::string>(value);
    if (const auto found = map_.find(key); found != map_.end()) {
        found->second = std::move(shared);
    } else {
        map_.emplace(key, std::move(shared));
    }
}

bool Table::erase(std::string_view key) {
    const auto found = map_.find(key);
    if (found == map_.end()) {
        return false;
    }
    map_.erase(found);
    return true;
}

Value Table::find(std::string_view key) const {
    const auto found = map_.find(key);
    return found == map_.end() ? nullptr : found->second;
}

std::int64_t Table::sum(std::string_view key, std::int64_t amount) const {
    std::int64_t number = 0;
    if (const Value value = find(key)) {
        const char* const end = value->data() + value->size();
        const auto [stop, error] = std::from_chars(value->data(), end, number);
        if (error != std::errc{} || stop != end) {
            throw Error(ErrorCode::store,
                        fmt::format("add to key {}: its value {} is not a whole number",
                                    in_quotes(key), in_quotes(*value)));
        }
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(number, amount, &total)) {
        throw Error(ErrorCode::store, fmt::format("add to key {}: {} + {} does not fit 64 bits",
                                                  in_quotes(key), number, amount));
    }
    return total;
}

bool Table::matches(std::string_view key, std::string_view expected) const {
    const Value value = find(key);
    return value ? *value == expected : expected.empty();
}

std::vector<std::string> Table::missing(std::span<const std::string> keys) const {
    std::vector<std::string> out;
    for (const std::string& key : keys) {
        if (!map_.contains(key)) {
            out.push_back(key);
        }
    }
    return out;
}

}  // namespace trireme::store
