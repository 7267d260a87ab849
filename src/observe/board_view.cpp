#include "observe/board_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/op_info.h"
#include "core/op_record.h"
#include "core/unique_fd.h"

namespace trireme {

namespace {

std::chrono::steady_clock::time_point time_of(std::int64_t nanoseconds) noexcept {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

bool Sighting::is_collective(std::uint32_t of_stream, std::uint64_t number_there) const {
    return !info(kind).point_to_point && stream == of_stream && sequence == number_there;
}

const Sighting* main_one(const std::vector<Sighting>& newest_first) {
    const Sighting* found = nullptr;
    for (const Sighting& one : newest_first)
        if (one.under_way && (one.blocking || found == nullptr || !found->blocking)) found = &one;
    return found;
}

std::optional<BoardView> BoardView::open(const BoardAddress& address) {
    const UniqueFd descriptor = address.open(false);
    if (!shm::is_sealed_memory(descriptor, sizeof(board::Board))) return std::nullopt;
    BoardView view(shm::Mapping(descriptor.get(), 0, sizeof(board::Board), false));
    if (!view.mapping_) return std::nullopt;
    const board::Board& board = view.board();
    if (board.magic != board::magic || board.version != board::layout_version || board.rank < 0 ||
        board.rank >= board.size)
        return std::nullopt;
    return view;
}

std::optional<BoardView> BoardView::open(const BoardAddress& address, int rank,
                                         const shm::Token& token) {
    std::optional<BoardView> view = open(address);
    // The same numbers on another host are another process.
    if (view && (view->rank() != rank || view->token() != token)) view.reset();
    return view;
}

std::string BoardView::job() const {
    const auto& text = board().job;
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

std::chrono::steady_clock::time_point BoardView::made() const noexcept {
    return time_of(board().made);
}

std::string BoardView::name(std::uint32_t number) const {
    if (number >= board().names.load(std::memory_order_acquire) || number >= board::most_names)
        return "?";
    const auto& text = board().name[number];
    return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

bool BoardView::read(std::uint64_t number, board::Entry& entry) const noexcept {
    return board().ring[number % board::slots].read(number, entry) && entry.kind < op_kinds &&
           entry.dtype < dtype_count && entry.reduce < reduce_op_kinds &&
           entry.ended != std::numeric_limits<std::int64_t>::min();
}

Sighting BoardView::sighting(const board::Entry& entry) const {
    const std::string file = name(entry.file);
    const std::string user = name(entry.user);
    OpRecord record{.kind = static_cast<OpKind>(entry.kind),
                    .dtype = static_cast<Dtype>(entry.dtype),
                    .reduce = static_cast<ReduceOp::Kind>(entry.reduce),
                    .uneven = entry.uneven != 0,
                    .peer = entry.peer,
                    .tag = entry.tag,
                    .count = entry.count,
                    .joined = entry.joined,
                    .sequence = entry.sequence,
                    .file = file.c_str(),
                    .line = entry.line};
    user.copy(record.user.data(), record.user.size() - 1);
    constexpr std::uint32_t prime = 31;
    for (const char letter : record.user)
        record.user_key = record.user_key * prime + static_cast<unsigned char>(letter);
    const auto& awaited = board().awaited[entry.number % board::slots];
    return Sighting{
        .kind = record.kind,
        .peer = entry.peer,
        .tag = entry.tag,
        .call = record.describe(),
        .algorithm = name(entry.algorithm),
        .group = name(entry.group),
        .stream = entry.stream,
        .sequence = entry.sequence,
        .number = entry.number,
        .fingerprint = record.fingerprint(),
        .bytes = entry.count * size_of(record.dtype),
        .under_way = entry.ended == 0,
        .failed = entry.ended < 0,
        .blocking = entry.blocking != 0 || awaited.load(std::memory_order_acquire) == entry.number,
        .begun = time_of(entry.begun),
        .ended = time_of(std::abs(entry.ended))};
}

// From the newest back.
template <class Wanted>
std::vector<Sighting> BoardView::collect(std::size_t most, Wanted wanted) const {
    std::vector<Sighting> found;
    const std::uint64_t newest = begun();
    const std::uint64_t oldest = newest > board::slots ? newest - board::slots : 0;
    board::Entry entry;
    for (std::uint64_t number = newest; number > oldest && found.size() < most; --number)
        if (read(number, entry) && wanted(entry)) found.push_back(sighting(entry));
    return found;
}

namespace {

bool is_collective_at(const board::Entry& entry, std::uint32_t stream) {
    return entry.stream == stream && !info(static_cast<OpKind>(entry.kind)).point_to_point;
}

std::optional<Sighting> first_of(std::vector<Sighting> found) {
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

}  // namespace

std::vector<Sighting> BoardView::under_way() const {
    return collect(board::slots, [](const board::Entry& entry) { return entry.ended == 0; });
}

std::vector<Sighting> BoardView::recent(std::size_t most) const {
    return collect(board::slots, [&](const board::Entry& entry) {
        return entry.ended == 0 || (most > 0 && most-- > 0);
    });
}

std::optional<Sighting> BoardView::last_ended() const {
    board::Entry entry;
    board::Entry last;
    const std::uint64_t newest = begun();
    const std::uint64_t oldest = newest > board::slots ? newest - board::slots : 0;
    for (std::uint64_t number = newest; number > oldest; --number)
        if (read(number, entry) && std::abs(entry.ended) > std::abs(last.ended)) last = entry;
    return last.ended == 0 ? std::nullopt : std::optional(sighting(last));
}

std::optional<Sighting> BoardView::find(std::uint32_t stream, std::uint64_t sequence) const {
    return first_of(collect(1, [&](const board::Entry& entry) {
        return is_collective_at(entry, stream) && entry.sequence == sequence;
    }));
}

bool BoardView::has_message(std::uint32_t stream, OpKind kind, int peer, int tag,
                            std::uint64_t sequence) const {
    return !collect(1, [&](const board::Entry& entry) {
                return entry.stream == stream && static_cast<OpKind>(entry.kind) == kind &&
                       entry.peer == peer && entry.tag == tag && entry.sequence == sequence;
            }).empty();
}

bool BoardView::has_reached(std::uint32_t stream, std::uint64_t sequence) const {
    const auto& progress = board().progress;
    const std::uint64_t last = progress[stream % progress.size()].load(std::memory_order_acquire);
    // Numbers may have wrapped around; that of another stream says nothing of this one.
    if (last >> 32 == stream) return static_cast<std::int32_t>(last - sequence) >= 0;
    return last != 0 && find(stream, sequence);
}

std::optional<std::uint64_t> BoardView::reached(std::uint32_t stream) const {
    const auto& progress = board().progress;
    const std::uint64_t last = progress[stream % progress.size()].load(std::memory_order_acquire);
    const std::optional<Sighting> newest = first_of(
        collect(1, [&](const board::Entry& entry) { return is_collective_at(entry, stream); }));
    if (newest) return newest->sequence;
    if (last >> 32 == stream) return last & 0xffffffff;
    return last == 0 || begun() <= board::slots ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::vector<board::Membership> BoardView::groups() const {
    std::vector<board::Membership> found;
    board::Membership one;
    for (const auto& shown : board().groups)
        if (shown.read(one) && one.stream != 0) found.push_back(one);
    return found;
}

std::optional<std::pair<std::string, std::chrono::steady_clock::time_point>> BoardView::errand()
    const {
    board::Errand errand;
    if (!board().errand.read(errand) || errand.since == 0) return std::nullopt;
    errand.text.back() = '\0';
    return std::pair(std::string(errand.text.data()), time_of(errand.since));
}

board::Circle BoardView::circle() const noexcept {
    board::Circle circle;
    if (!board().circle.read(circle)) return {};
    circle.count = std::min<std::uint64_t>(circle.count, board::Circle::most);
    circle.text.back() = '\0';
    return circle;
}

board::Waits BoardView::waits() const noexcept {
    board::Waits waits;
    if (!board().waits.read(waits)) return {};
    waits.count = std::min<std::uint64_t>(waits.count, board::most_waits);
    return waits;
}

}  // namespace trireme
