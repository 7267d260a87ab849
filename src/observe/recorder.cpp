#include "observe/recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/op_info.h"
#include "trireme/error.h"

namespace trireme {

Recorder::Recorder(int rank, int size) {
    descriptor_ = shm::make_sealed_memory("trireme-board", sizeof(board::Board));
    mapping_ = shm::Mapping(descriptor_.get(), 0, sizeof(board::Board), true);
    if (!mapping_)
        throw Error(ErrorCode::system,
                    fmt::format("cannot map {} KiB of shared memory for the flight recorder: {}",
                                sizeof(board::Board) / 1024, std::strerror(errno)));
    // All zeros is the state of what is not written yet; pages that nobody touches cost nothing.
    board::Board& own = board();
    own.rank = rank;
    own.pid = ::getpid();
    own.size = std::max(size, rank + 1);
    own.made = nanoseconds(Clock::now());
    if (const char* const job = std::getenv("TRIREME_JOB"))
        std::string_view(job).copy(own.job.data(), own.job.size() - 1);
    own.version = board::layout_version;
    own.magic = board::magic;
    numbers_.emplace("", 0);
    own.names.store(1, std::memory_order_release);
}

BoardAddress Recorder::address() const noexcept { return {::getpid(), descriptor_.get()}; }

std::uint16_t Recorder::number_of(std::string_view name) {
    name = name.substr(0, board::name_bytes - 1);
    if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
    if (numbers_.size() == board::most_names) return 0;
    const auto number = static_cast<std::uint16_t>(numbers_.size());
    name.copy(board().name[number].data(), name.size());
    board().names.store(number + 1U, std::memory_order_release);
    numbers_.emplace(name, number);
    return number;
}

std::uint16_t Recorder::enter_group(std::uint32_t stream, std::string_view name, int rank,
                                    int size) {
    const std::uint16_t number = number_of(name);
    const auto free = std::ranges::find(streams_, 0U);
    if (free != streams_.end()) {
        *free = stream;
        board().groups[static_cast<std::size_t>(free - streams_.begin())].write(
            {.stream = stream, .name = number, .rank = rank, .size = size});
    }
    return number;
}

void Recorder::leave_group(std::uint32_t stream) noexcept {
    const auto shown = std::ranges::find(streams_, stream);
    if (shown == streams_.end()) return;
    *shown = 0;
    board().groups[static_cast<std::size_t>(shown - streams_.begin())].write({});
}

std::uint16_t Recorder::number_of_literal(const char* text) {
    Literal& known = literals_[reinterpret_cast<std::uintptr_t>(text) / 8 % literals_.size()];
    if (known.text != text) {
        std::string_view name(text);
        name.remove_prefix(name.find_last_of('/') + 1);
        known = {text, number_of(name)};
    }
    return known.number;
}

board::Entry Recorder::entry_of(const OpRecord& record, std::uint32_t stream, std::uint16_t group,
                                bool blocking) {
    const bool is_users = record.reduce == ReduceOp::Kind::user;
    const std::uint16_t user = is_users ? number_of(record.user.data()) : std::uint16_t{0};
    return {
        .count = record.count,
        .stream = stream,
        .line = record.line,
        .peer = record.peer,
        .tag = record.tag,
        .group = group & board::name_bits,
        .file = number_of_literal(record.file) & board::name_bits,
        .algorithm = number_of_literal(record.algorithm) & board::name_bits,
        .user = user & board::name_bits,
        .kind = static_cast<std::uint8_t>(record.kind) & 63U,
        .dtype = static_cast<std::uint8_t>(record.dtype) & 63U,
        .reduce = static_cast<std::uint8_t>(record.reduce) & 63U,
        .uneven = record.uneven ? 1U : 0U,
        .joined = record.joined != 0 ? 1U : 0U,
        .blocking = blocking ? 1U : 0U,
    };
}

void Recorder::show_other_callers() noexcept {
    board().other_callers.store(1, std::memory_order_release);
}

void Recorder::set_awaited(std::uint64_t number, bool awaited) noexcept {
    if (board().begun.load(std::memory_order_relaxed) - number >= board::slots) return;
    if (awaited) note_thread();
    board().awaited[number % board::slots].store(awaited ? number : 0, std::memory_order_release);
}

void Recorder::show_errand(std::string_view text, Clock::time_point now) noexcept {
    board::Errand errand{.since = text.empty() ? 0 : nanoseconds(now)};
    text.copy(errand.text.data(), errand.text.size() - 1);
    board().errand.write(errand);
}

void Recorder::show_circle(std::span<const board::Circle::Member> members,
                           std::string_view text) noexcept {
    board::Circle shown{.count = std::min(members.size(), board::Circle::most)};
    std::copy_n(members.begin(), shown.count, shown.members.begin());
    text.copy(shown.text.data(), shown.text.size() - 1);
    board().circle.write(shown);
}

void Recorder::show_waits(std::span<const board::Wait> waits, Clock::time_point now) noexcept {
    board::Waits shown{.count = std::min(waits.size(), board::most_waits),
                       .since = nanoseconds(now)};
    std::copy_n(waits.begin(), shown.count, shown.waits.begin());
    board().waits.write(shown);
}

}  // namespace trireme
