#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trireme::store {

/// Values are shared and constant: a thousand readers of a large one cost no copies.
using Value = std::shared_ptr<const std::string>;

/// The keys and values of a store, and the meaning of its verbs. Not thread-safe, knows nothing
/// of waiting: the stores add that.
class Table {
public:
    /// Lets the map be searched by a view, without making a string of it.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept {
            return std::hash<std::string_view>{}(key);
        }
    };
    using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

    void set(std::string_view key, std::string_view value);
    bool erase(std::string_view key);
    void clear() noexcept { map_.clear(); }

    /// Null where the key is absent.
    [[nodiscard]] Value find(std::string_view key) const;

    /// The number under `key` (0 if absent) plus `amount`. Throws `Error(store)` where the value
    /// is no number or the sum overflows.
    [[nodiscard]] std::int64_t sum(std::string_view key, std::int64_t amount) const;

    /// Whether compare_set sets: the value is `expected`, or is absent and `expected` is empty.
    [[nodiscard]] bool matches(std::string_view key, std::string_view expected) const;

    /// Those of `keys` that are absent.
    [[nodiscard]] std::vector<std::string> missing(std::span<const std::string> keys) const;

    [[nodiscard]] const Map& entries() const noexcept { return map_; }

private:
    Map map_;
};

}  // namespace trireme::store
