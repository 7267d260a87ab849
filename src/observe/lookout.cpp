#include "observe/lookout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trireme {

namespace {

// 'R', 'S', 'T' (stopped), 'Z' (ended, and not yet fetched), ...: see proc(5); 0: no process.
char process_state(int pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // The name before it stands in parentheses, and may contain anything.
    const std::size_t end = text.rfind(')');
    return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

std::string in_seconds(Lookout::Clock::duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

// Of several operations under way the one that a thread has stood in longest, else the oldest.
const Sighting& main_one(const std::vector<Sighting>& newest_first) {
    const auto blocking = std::find_if(newest_first.rbegin(), newest_first.rend(),
                                       [](const Sighting& one) { return one.blocking; });
    return blocking != newest_first.rend() ? *blocking : newest_first.back();
}

std::string awaited_by(const BoardView& board, std::uint64_t number) {
    std::vector<int> ranks;
    bool any = false;
    const board::Waits waits = board.waits();
    for (std::size_t i = 0; i < waits.count; ++i) {
        if (waits.waits[i].number != number) continue;
        ranks.push_back(waits.waits[i].rank);
        any = any || (waits.waits[i].how & board::wait_for_any) != 0;
    }
    if (ranks.empty()) return {};
    return fmt::format(" and waits for {} {}",
                       any                 ? "any of ranks"
                       : ranks.size() == 1 ? "rank"
                                           : "ranks",
                       fmt::join(ranks, ", "));
}

}  // namespace

const BoardView* Lookout::board(int rank) {
    const auto known = boards_.find(rank);
    if (known != boards_.end()) return &known->second;
    if (static_cast<std::size_t>(rank) >= addresses_.size()) return nullptr;
    auto opened = BoardView::open(addresses_[static_cast<std::size_t>(rank)], rank, token_);
    return opened ? &boards_.emplace(rank, std::move(*opened)).first->second : nullptr;
}

std::string Lookout::whereabouts(int rank, std::uint32_t stream, std::uint64_t sequence,
                                 Clock::time_point now) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return "cannot be seen from here";
    const char process = process_state(board->pid());
    if (process == '\0' || process == 'Z' || process == 'X')
        return fmt::format("has ended (process {})", board->pid());
    const std::string stopped =
        process == 'T' || process == 't'
            ? fmt::format("is stopped by a signal (process {}) and ", board->pid())
            : "";
    const std::vector<Sighting> all = board->under_way();
    const auto same = std::ranges::find_if(all, [&](const Sighting& one) {
        return sequence != 0 && one.is_collective(stream, sequence);
    });
    if (same != all.end())
        return stopped + fmt::format("is in the same call for {}{}", in_seconds(now - same->begun),
                                     awaited_by(*board, same->number));
    if (!all.empty()) {
        const Sighting& one = main_one(all);
        return stopped + fmt::format("is in {} on group \"{}\" for {}{}", one.call, one.group,
                                     in_seconds(now - one.begun), awaited_by(*board, one.number));
    }
    if (const auto errand = board->errand())
        return stopped +
               fmt::format("is {} for {}", errand->first, in_seconds(now - errand->second));
    const std::optional<Sighting> last = board->last();
    if (!last) return stopped + "has not called anything yet";
    return stopped + fmt::format("is in user code for {}, after {} on group \"{}\"",
                                 in_seconds(now - last->ended), last->call, last->group);
}

std::vector<int> Lookout::missing(const std::vector<int>& ranks, std::uint32_t stream,
                                  std::uint64_t sequence) {
    std::vector<int> missing;
    for (const int rank : ranks) {
        const BoardView* const board = this->board(rank);
        if (board != nullptr && !board->has_reached(stream, sequence)) missing.push_back(rank);
    }
    return missing;
}

bool Lookout::has_other_side(int rank, std::uint32_t stream, OpKind kind, int peer, int tag,
                             std::uint64_t sequence) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return false;
    if (sequence != 0 && board->has_message(stream, kind, peer, tag, sequence)) return true;
    return std::ranges::any_of(board->under_way(), [&](const Sighting& one) {
        return one.stream == stream && one.kind == kind && one.tag == tag &&
               (one.peer == peer || one.peer == AnySource::rank);
    });
}

std::optional<Stand> Lookout::stand(int rank) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return std::nullopt;
    std::vector<Sighting> all = board->under_way();
    std::erase_if(all, [](const Sighting& one) { return !one.blocking; });
    if (all.empty()) return std::nullopt;
    const Sighting& one = main_one(all);
    Stand stand{.number = one.number,
                .call = one.call,
                .group = one.group,
                .certain = !board->has_other_callers()};
    const board::Waits waits = board->waits();
    for (std::size_t i = 0; i < waits.count; ++i) {
        const board::Wait& wait = waits.waits[i];
        if (wait.number != one.number) continue;
        if ((wait.how & board::wait_may_end) != 0) return std::nullopt;
        stand.needs.push_back(wait.rank);
        stand.any = stand.any || (wait.how & board::wait_for_any) != 0;
    }
    return stand.needs.empty() ? std::nullopt : std::optional(std::move(stand));
}

std::optional<board::Circle> Lookout::circle_with(int rank, const board::Circle::Member& member) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return std::nullopt;
    const board::Circle circle = board->circle();
    const auto end = circle.members.begin() + static_cast<std::ptrdiff_t>(circle.count);
    return std::find(circle.members.begin(), end, member) != end ? std::optional(circle)
                                                                 : std::nullopt;
}

std::optional<std::string> Lookout::call_of(int rank, std::uint32_t stream,
                                            std::uint64_t sequence) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return std::nullopt;
    const std::optional<Sighting> found = board->find(stream, sequence);
    return found ? std::optional(found->call) : std::nullopt;
}

}  // namespace trireme
