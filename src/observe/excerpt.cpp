#include "observe/excerpt.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <msgpack.hpp>

#include "core/unique_fd.h"

namespace trireme {

namespace {

// Those that a rank looks for when it asks whether a message was sent are among so many, or are too
// old to be still on their way.
constexpr std::uint64_t last_operations = 64;

// What is a value of plain bytes travels as such: both ends have the same `layout_version`.
struct Excerpt {
    std::uint32_t version = board::layout_version;
    std::int32_t rank = -1;
    std::uint64_t beat = 0;
    std::int64_t now = 0;
    std::uint64_t begun = 0;
    std::uint32_t other_callers = 0;
    std::vector<std::string> entries;
    std::vector<std::uint64_t> awaited;
    std::map<std::uint16_t, std::string> names;
    std::map<std::uint32_t, std::uint64_t> progress;
    std::string waits;
    std::string errand;
    std::string circle;

    MSGPACK_DEFINE(version, rank, beat, now, begun, other_callers, entries, awaited, names,
                   progress, waits, errand, circle)
};

template <class T>
std::string bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <class T>
bool from_bytes(const std::string& bytes, T& value) noexcept {
    if (bytes.size() != sizeof(T)) return false;
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof(T));
    return true;
}

std::int64_t count_of(std::chrono::steady_clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Whatever a stranger's numbers are, this is defined.
std::int64_t moved(std::int64_t time, std::int64_t by) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(time) +
                                     static_cast<std::uint64_t>(by));
}

void take_entries(const board::Board& board, Excerpt& excerpt) {
    std::set<std::uint16_t> names;
    const std::uint64_t oldest = excerpt.begun > board::slots ? excerpt.begun - board::slots : 0;
    for (std::uint64_t number = excerpt.begun; number > oldest; --number) {
        board::Entry entry;
        if (!board.ring[number % board::slots].read(number, entry)) continue;
        if (entry.ended != 0 && number + last_operations <= excerpt.begun) continue;
        excerpt.entries.push_back(bytes_of(entry));
        names.insert(entry.group);
        names.insert(entry.file);
        names.insert(entry.algorithm);
        names.insert(entry.user);
        if (board.awaited[number % board::slots].load(std::memory_order_acquire) == number)
            excerpt.awaited.push_back(number);
    }
    const std::uint32_t known = board.names.load(std::memory_order_acquire);
    for (const std::uint16_t number : names)
        if (number < known && number < board::most_names)
            excerpt.names.emplace(number, board.name[number].data());
}

void lay_out(const Excerpt& excerpt, std::int64_t shift, board::Board& board) {
    board.magic = board::magic;
    board.version = board::layout_version;
    board.rank = excerpt.rank;
    for (const std::string& bytes : excerpt.entries) {
        board::Entry entry;
        if (!from_bytes(bytes, entry)) continue;
        entry.begun = moved(entry.begun, shift);
        if (entry.ended != 0) entry.ended = moved(entry.ended, entry.ended > 0 ? shift : -shift);
        board.ring[entry.number % board::slots].write(entry, entry.number, entry.begun,
                                                      entry.sequence);
    }
    for (const std::uint64_t number : excerpt.awaited)
        board.awaited[number % board::slots].store(number, std::memory_order_relaxed);
    for (const auto& [number, text] : excerpt.names)
        if (number < board::most_names) text.copy(board.name[number].data(), board::name_bytes - 1);
    board.names.store(board::most_names, std::memory_order_relaxed);
    for (const auto& [place, value] : excerpt.progress)
        if (place < board.progress.size())
            board.progress[place].store(value, std::memory_order_relaxed);
    if (board::Waits waits; from_bytes(excerpt.waits, waits)) {
        waits.since = moved(waits.since, shift);
        board.waits.write(waits);
    }
    if (board::Errand errand; from_bytes(excerpt.errand, errand)) {
        if (errand.since != 0) errand.since = moved(errand.since, shift);
        board.errand.write(errand);
    }
    if (board::Circle circle; from_bytes(excerpt.circle, circle)) board.circle.write(circle);
    board.other_callers.store(excerpt.other_callers, std::memory_order_relaxed);
    board.begun.store(excerpt.begun, std::memory_order_relaxed);
}

}  // namespace

std::string make_excerpt(const board::Board& board, std::uint64_t beat,
                         std::chrono::steady_clock::time_point now) {
    Excerpt excerpt;
    excerpt.rank = board.rank;
    excerpt.beat = beat;
    excerpt.now = count_of(now);
    excerpt.begun = board.begun.load(std::memory_order_acquire);
    excerpt.other_callers = board.other_callers.load(std::memory_order_acquire);
    take_entries(board, excerpt);
    for (std::uint32_t place = 0; place < board.progress.size(); ++place)
        if (const std::uint64_t value = board.progress[place].load(std::memory_order_acquire))
            excerpt.progress.emplace(place, value);
    if (board::Waits waits; board.waits.read(waits) && waits.count > 0)
        excerpt.waits = bytes_of(waits);
    if (board::Errand errand; board.errand.read(errand) && errand.since != 0)
        excerpt.errand = bytes_of(errand);
    if (board::Circle circle; board.circle.read(circle) && circle.count > 0)
        excerpt.circle = bytes_of(circle);
    msgpack::sbuffer buffer;
    msgpack::pack(buffer, excerpt);
    return {buffer.data(), buffer.size()};
}

std::optional<ExcerptBoard> read_excerpt(const std::string& bytes, int rank,
                                         std::chrono::steady_clock::time_point now) {
    Excerpt excerpt;
    try {
        // Numbers of elements are claims: nothing is allocated for more than there can be.
        const msgpack::unpack_limit limit(2 * board::slots, 2 * board::slots, bytes.size(), 0, 0,
                                          4);
        msgpack::unpack(bytes.data(), bytes.size(), nullptr, nullptr, limit).get().convert(excerpt);
    } catch (const std::exception&) {
        return std::nullopt;
    }
    if (excerpt.version != board::layout_version || excerpt.rank != rank) return std::nullopt;
    // Pages that nobody touches cost nothing: most of a board.
    const UniqueFd descriptor(::memfd_create("trireme-excerpt", MFD_CLOEXEC));
    if (!descriptor || ::ftruncate(descriptor.get(), sizeof(board::Board)) != 0)
        return std::nullopt;
    shm::Mapping memory(descriptor.get(), 0, sizeof(board::Board), true);
    if (!memory) return std::nullopt;
    lay_out(excerpt, moved(count_of(now), -excerpt.now),
            *reinterpret_cast<board::Board*>(memory.data()));
    return ExcerptBoard{std::move(memory), excerpt.beat};
}

}  // namespace trireme
