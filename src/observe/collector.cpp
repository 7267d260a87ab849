#include "observe/collector.h"

#include <algorithm>
#include <utility>

namespace trireme {

std::string Collector::name(std::uint32_t number) const {
    if (number >= board_.names.load(std::memory_order_acquire)) return {};
    const auto& text = board_.name[number];
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

bool Collector::read(std::uint64_t number, board::Entry& entry) const noexcept {
    return board_.ring[number % board::slots].read(number, entry);
}

std::uint64_t Collector::collect(OperationSink& sink) {
    const std::uint64_t newest = board_.begun.load(std::memory_order_acquire);
    const std::uint64_t begun = newest - seen_;
    std::uint64_t lost = 0;
    std::vector<board::Entry> still_open;
    const auto take = [&](std::uint64_t number, const board::Entry* known) {
        board::Entry entry;
        if (!read(number, entry)) {
            ++lost;
            if (known != nullptr) sink.lost(*known);
            return;
        }
        if (known == nullptr) sink.begun(entry);
        if (entry.ended != 0)
            sink.ended(entry);
        else
            still_open.push_back(entry);
    };
    for (const board::Entry& entry : open_) take(entry.number, &entry);
    if (begun > board::slots) {
        lost += begun - board::slots;
        seen_ = newest - board::slots;
    }
    while (seen_ < newest) take(++seen_, nullptr);
    open_ = std::move(still_open);
    if (lost != 0) sink.missed(lost);
    return begun;
}

}  // namespace trireme
