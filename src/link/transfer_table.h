#pragma once

#include <cstdint>
#include <vector>

namespace trireme {

class Transfer;

/// Numbers by which the peer refers to transfers. A number holds a generation, so that one from
/// the peer that is stale, or made up, finds nothing.
class TransferTable {
public:
    [[nodiscard]] std::uint32_t add(Transfer& transfer) {
        std::uint32_t index = 0;
        if (free_.empty()) {
            index = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({});
        } else {
            index = free_.back();
            free_.pop_back();
        }
        entries_[index].transfer = &transfer;
        return number(index);
    }

    [[nodiscard]] Transfer* find(std::uint32_t number) const noexcept {
        const std::uint32_t index = number & index_mask;
        if (index >= entries_.size() || this->number(index) != number) return nullptr;
        return entries_[index].transfer;
    }

    void remove(std::uint32_t number) {
        Entry& entry = entries_[number & index_mask];
        entry.transfer = nullptr;
        entry.generation = entry.generation % generations + 1;
        free_.push_back(number & index_mask);
    }

private:
    static constexpr std::uint32_t index_bits = 20;
    static constexpr std::uint32_t index_mask = (1U << index_bits) - 1;
    static constexpr std::uint32_t generations = (1U << (32 - index_bits)) - 1;

    struct Entry {
        Transfer* transfer = nullptr;
        std::uint32_t generation = 1;  // never 0, so that no number is 0
    };

    [[nodiscard]] std::uint32_t number(std::uint32_t index) const noexcept {
        return entries_[index].generation << index_bits | index;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

}  // namespace trireme
