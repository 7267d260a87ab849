#pragma once

#include <array>
#include <cstdint>

#include "core/op_record.h"

namespace trireme {

/// The last collectives of a group, by their numbers: for errors that name an earlier call.
class LastCalls {
public:
    void add(const OpRecord& record) noexcept {
        calls_[record.sequence % size] = {.record = record};
    }

    /// One like another that is known, but for its number. That one's record must stay as it is
    /// until `settle`: to copy it for each short call would take as long as the rest of the record.
    void add(const OpRecord& like, std::uint64_t sequence) noexcept {
        Last& last = calls_[sequence % size];
        last.like = &like;
        last.record.sequence = sequence;
    }
    /// A record of which calls were said to be like is about to change.
    void settle(const OpRecord& like) noexcept {
        for (Last& last : calls_)
            if (last.like == &like) last.complete();
    }

    /// What lies in the place of a number: that call, or an older or a later one, or none, whose
    /// number is 0.
    [[nodiscard]] const OpRecord& at(std::uint64_t sequence) const noexcept {
        Last& last = calls_[sequence % size];
        last.complete();
        return last.record;
    }

private:
    static constexpr std::uint64_t size = 16;

    struct Last {
        OpRecord record{};
        const OpRecord* like = nullptr;  // not null: `record` is this but for its number

        void complete() noexcept {
            if (like == nullptr) return;
            const std::uint64_t sequence = record.sequence;
            record = *like;
            record.sequence = sequence;
            like = nullptr;
        }
    };

    mutable std::array<Last, size> calls_{};  // who reads one completes it
};

}  // namespace trireme
