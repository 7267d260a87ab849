#include "observe/lookout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "observe/excerpt.h"
#include "observe/process_state.h"

namespace trireme {

namespace {

// Twice as long as the slow beat of `Bulletin`, and a bit.
constexpr std::chrono::seconds silence{5};
// While a rank waits, the thread fetches three times a second.
constexpr std::chrono::seconds stale{3};

std::string in_seconds(Lookout::Clock::duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

constexpr std::chrono::milliseconds a_while{500};
// So many operations a rank has under way, or ends all at once, mostly.
constexpr std::size_t looked_at_last = 16;

// Whether it has been in its own code for a while: one that has just done something is at work.
bool idles(const BoardView& board, Lookout::Clock::time_point now) {
    if (std::ranges::any_of(board.under_way(), &Sighting::blocking)) return false;
    // An operation that began before may have ended after: its deadline passed, as this rank's did.
    const std::optional<Sighting> last = board.last_ended();
    return !last || now - last->ended > a_while;
}

// Whom it waits for in what is under way: the board may still show what came before. Or has waited
// for in what has just failed: its deadline may have passed a moment before this rank's.
std::vector<int> waited_for(const BoardView& board, Lookout::Clock::time_point now) {
    std::vector<int> ranks;
    const board::Waits waits = board.waits();
    if (waits.count == 0) return ranks;
    std::vector<Sighting> all = board.recent(looked_at_last);
    std::erase_if(all, [&](const Sighting& one) {
        return !one.under_way && (!one.failed || now - one.ended > a_while);
    });
    for (std::size_t i = 0; i < waits.count; ++i)
        if (std::ranges::find(all, waits.waits[i].number, &Sighting::number) != all.end())
            ranks.push_back(waits.waits[i].rank);
    return ranks;
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
    if (!is_remote_.contains(rank)) {
        auto opened = BoardView::open(addresses_[static_cast<std::size_t>(rank)], rank, token_);
        if (opened) return &boards_.emplace(rank, std::move(*opened)).first->second;
    }
    wanted_.insert(rank);
    // What was fetched for an earlier wait says nothing of now.
    const auto remote = remote_.find(rank);
    const bool fresh = remote != remote_.end() && Clock::now() - remote->second.fetched < stale;
    return fresh ? &remote->second.board : nullptr;
}

std::vector<int> Lookout::find_remote(int size) {
    for (int rank = 0; rank < size; ++rank)
        if (board(rank) == nullptr) is_remote_.insert(rank);
    return {is_remote_.begin(), is_remote_.end()};
}

void Lookout::receive(int rank, const std::string& excerpt) {
    const auto now = Clock::now();
    const auto known = remote_.find(rank);
    auto read = read_excerpt(excerpt, rank, now);
    if (!read) return;
    if (known != remote_.end() && known->second.beat == read->beat) {
        known->second.fetched = now;
        return;
    }
    remote_.insert_or_assign(
        rank, Remote{BoardView::of_excerpt(std::move(read->memory)), read->beat, now, now});
}

std::vector<int> Lookout::take_wanted() {
    const std::vector<int> ranks(wanted_.begin(), wanted_.end());
    wanted_.clear();
    return ranks;
}

std::uint64_t Lookout::beat(int rank) const noexcept {
    const auto remote = remote_.find(rank);
    return remote != remote_.end() ? remote->second.beat : 0;
}

// What can be said of the process itself, and whether that is all there is to say.
std::pair<std::string, bool> Lookout::state_of(int rank, const BoardView& board,
                                               Clock::time_point now) const {
    if (const auto remote = remote_.find(rank); remote != remote_.end()) {
        const auto silent = now - remote->second.changed;
        if (silent < silence) return {};
        return {
            fmt::format("has not been heard of for {}, and when last seen ", in_seconds(silent)),
            false};
    }
    const ProcessState process = process_state(board.pid());
    if (process == ProcessState::ended)
        return {fmt::format("has ended (process {})", board.pid()), true};
    if (process == ProcessState::stopped)
        return {fmt::format("is stopped by a signal (process {}) and ", board.pid()), false};
    return {};
}

std::string Lookout::whereabouts(int rank, std::uint32_t stream, std::uint64_t sequence,
                                 Clock::time_point now) {
    const BoardView* const board = this->board(rank);
    if (board == nullptr) return "cannot be seen from here";
    const auto [stopped, all_said] = state_of(rank, *board, now);
    if (all_said) return stopped;
    const std::vector<Sighting> all = board->under_way();
    const auto same = std::ranges::find_if(all, [&](const Sighting& one) {
        return sequence != 0 && one.is_collective(stream, sequence);
    });
    if (same != all.end())
        return stopped + fmt::format("is in the same call for {}{}", in_seconds(now - same->begun),
                                     awaited_by(*board, same->number));
    if (!all.empty()) {
        const Sighting& one = *main_one(all);
        return stopped + fmt::format("is in {} on group \"{}\" for {}{}", one.call, one.group,
                                     in_seconds(now - one.begun), awaited_by(*board, one.number));
    }
    if (const auto errand = board->errand())
        return stopped +
               fmt::format("is {} for {}", errand->first, in_seconds(now - errand->second));
    const std::optional<Sighting> last = board->last_ended();
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

std::vector<int> Lookout::silent(const std::vector<int>& ranks, Clock::time_point now) {
    std::vector<int> silent;
    for (const int rank : ranks) {
        const BoardView* const board = this->board(rank);
        if (board == nullptr) continue;
        const auto [text, has_ended] = state_of(rank, *board, now);
        if (!text.empty() && !has_ended) silent.push_back(rank);
    }
    return silent;
}

std::vector<int> Lookout::roots(const std::vector<int>& ranks, int self, Clock::time_point now) {
    std::set<int> seen{self};
    std::set<int> roots;
    std::vector<int> open = ranks;
    while (!open.empty()) {
        const int rank = open.back();
        open.pop_back();
        if (!seen.insert(rank).second) continue;
        const BoardView* const board = this->board(rank);
        if (board == nullptr || !silent({rank}, now).empty() || idles(*board, now)) {
            roots.insert(rank);
            continue;
        }
        const std::vector<int> next = waited_for(*board, now);
        open.insert(open.end(), next.begin(), next.end());
    }
    if (roots.empty()) return ranks;
    return {roots.begin(), roots.end()};
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
    const Sighting& one = *main_one(all);
    Stand stand{.number = one.number,
                .call = one.call,
                .group = one.group,
                .beat = beat(rank),
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
