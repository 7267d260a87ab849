#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "group/group_state.h"
#include "group/operation.h"
#include "group/world_state.h"
#include "observe/warn.h"

// What a group says of ranks that do not come, or that come with another call.

namespace trireme {

namespace {

// A wait as short as that is nobody's business.
constexpr std::chrono::milliseconds worth_showing{100};
constexpr std::size_t most_described = 8;
// One that will end so soon by itself was perhaps meant to: its ranks are in no deadlock.
constexpr std::chrono::seconds soon{5};

// Whether an operation of rank `own` of a group can only end once `peer` has called it too, for
// that one has something that this rank needs, or leads to it. Not so where data goes to a root, or
// up the ranks, or comes in parts that may be empty: such a one may end though a rank never comes.
bool needs(const OpRecord& record, int own, int peer) {
    const bool has_parts = !record.uneven && record.count > 0;
    switch (record.kind) {
        case OpKind::barrier:
        case OpKind::monitored_barrier:
        case OpKind::send:
        case OpKind::recv: return true;
        case OpKind::all_reduce:
        case OpKind::all_gather:
        case OpKind::reduce_scatter:
        case OpKind::all_to_all: return has_parts;
        case OpKind::broadcast:
        case OpKind::scatter: return has_parts && peer == record.peer;
        case OpKind::reduce:
        case OpKind::gather: return has_parts && own == record.peer;
        case OpKind::scan:
        case OpKind::exclusive_scan: return has_parts && peer < own;
        default: return false;
    }
}

}  // namespace

std::vector<int> GroupState::awaited_ranks() const {
    std::vector<int> ranks;
    for (const Link* link : plan_.links)
        if (link->waits_for_peer(stream())) ranks.push_back(link->peer());
    if (!commons_) return ranks;
    for (const int member : commons_->awaited()) {
        const int rank = plan_.ranks[static_cast<std::size_t>(member)];
        if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    }
    return ranks;
}

void GroupState::check_early(int peer, const Envelope& envelope) {
    const auto compare = [&](const OpRecord& own) {
        if (static_cast<std::uint32_t>(own.sequence) != envelope.key.sequence) return false;
        if (own.fingerprint() != envelope.fingerprint) fail(mismatch(own, peer, envelope), true);
        return true;
    };
    for (const Operation* operation : under_way_)
        if (!info(operation->record().kind).point_to_point && compare(operation->record())) return;
    // A call that has returned was another one than the peer's, if this message is not of it.
    const OpRecord& last = last_.at(envelope.key.sequence);
    if (last.sequence != 0) static_cast<void>(compare(last));
}

Error GroupState::mismatch(const OpRecord& own, int peer, const Envelope& theirs,
                           std::optional<std::size_t> expected) const {
    if (expected && theirs.fingerprint == own.fingerprint())
        return {
            ErrorCode::mismatch,
            fmt::format("{} on group \"{}\": rank {} sends {} elements to rank {}, which expects "
                        "{}; both sides must give the same count for this pair",
                        own.describe(), name(), peer, theirs.length / size_of(own.dtype),
                        world_rank(), *expected / size_of(own.dtype)),
            {peer, world_rank()}};
    // With its site, where this rank can look the peer's call up.
    const std::string their_call =
        world_->lookout()
            .call_of(peer, stream(), theirs.key.tag < 0 ? theirs.key.sequence : 0)
            .value_or(describe_fingerprint(theirs.fingerprint));
    if (info(own.kind).point_to_point)
        return {ErrorCode::mismatch,
                fmt::format("message #{} on group \"{}\": rank {} called {}, rank {} called {}; "
                            "dtype and count of a send and its recv must be equal",
                            own.sequence, name(), peer, their_call, world_rank(), own.describe()),
                {peer, world_rank()}};
    const std::string fields = describe_difference(own.fingerprint(), theirs.fingerprint);
    return {ErrorCode::mismatch,
            fmt::format(
                "{} #{} on group \"{}\": rank {} called {}, rank {} called {}; all ranks of a "
                "group must make the same calls in the same order{}",
                info(own.kind).name, own.sequence, name(), peer, their_call, world_rank(),
                own.describe(), fields.empty() ? "" : fmt::format("; these differ in {}", fields)),
            {peer, world_rank()}};
}

// The world ranks that an operation under way needs something of.
std::vector<int> GroupState::awaited_ranks(const Operation& operation) const {
    const OpRecord& record = operation.record();
    if (record.peer == AnySource::rank) return other_ranks();
    if (info(record.kind).point_to_point)
        return {plan_.ranks[static_cast<std::size_t>(record.peer)]};
    return awaited_ranks();
}

// Those that have not made the call that would let it go on, as far as can be seen.
std::vector<int> GroupState::missing_ranks(const Operation& operation) const {
    const OpRecord& record = operation.record();
    Lookout& lookout = world_->lookout();
    if (backend() != nullptr) return {};
    if (!info(record.kind).point_to_point)
        return lookout.missing(other_ranks(), stream(), record.sequence);
    const OpKind other_side = record.kind == OpKind::send ? OpKind::recv : OpKind::send;
    std::vector<int> missing = awaited_ranks(operation);
    std::erase_if(missing, [&](int peer) {
        return lookout.has_other_side(peer, stream(), other_side, rank(), record.tag,
                                      record.sequence);
    });
    return missing;
}

GroupState::Complaint GroupState::complain(const Operation& operation,
                                           Engine::Clock::time_point now) const {
    const OpRecord& record = operation.record();
    const bool collective = !info(record.kind).point_to_point;
    Complaint complaint;
    // Of a tree a rank knows its neighbours only; who has not come at all, their boards show.
    // Rank 0 of a monitored barrier hears from each by itself, and is to name all.
    const bool names_all = record.kind == OpKind::monitored_barrier && rank() == 0;
    if (!names_all) complaint.ranks = missing_ranks(operation);
    // One that has come may have been stopped since; and who waits for it need not be this rank.
    if (complaint.ranks.empty() && collective && !names_all)
        complaint.ranks = world_->lookout().silent(other_ranks(), now);
    if (complaint.ranks.empty()) complaint.ranks = awaited_ranks(operation);
    const bool alone = complaint.ranks.size() == 1;
    complaint.text = fmt::format("{} on group \"{}\": rank {} waited {:.1f} s for {}{}",
                                 record.describe(), name(), world_rank(),
                                 std::chrono::duration<double>(now - operation.started()).count(),
                                 alone                      ? "rank "
                                 : !complaint.ranks.empty() ? "ranks "
                                 : backend() != nullptr     ? "its backend"
                                                            : "itself",
                                 fmt::join(complaint.ranks, ", "));
    if (*record.algorithm != '\0')
        complaint.text += fmt::format(" (algorithm {})", record.algorithm);
    const auto describe = [&](const std::vector<int>& ranks) {
        for (std::size_t i = 0; i < std::min(ranks.size(), most_described); ++i)
            complaint.text +=
                fmt::format("; rank {} {}", ranks[i],
                            world_->lookout().whereabouts(ranks[i], stream(),
                                                          collective ? record.sequence : 0, now));
    };
    describe(complaint.ranks);
    if (names_all) return complaint;
    // To blame is not who waits in turn, but whom that one waits for.
    std::vector<int> roots = world_->lookout().roots(complaint.ranks, world_rank(), now);
    std::vector<int> further;
    std::ranges::copy_if(roots, std::back_inserter(further), [&](int rank) {
        return std::ranges::find(complaint.ranks, rank) == complaint.ranks.end();
    });
    describe(further);
    complaint.ranks = std::move(roots);
    return complaint;
}

// A rank that waits for messages sees here that a member has shown another call in its cell, of
// which no message comes.
void GroupState::compare_cells() {
    if (!commons_ || failure_ || !commons_->has_uncompared(collectives_ + 1)) return;
    const auto stranger = commons_->find_stranger(collectives_ + 1);
    if (!stranger) return;
    const OpRecord& own = last_.at(stranger->number);
    if (own.sequence != stranger->number) return;
    const Envelope theirs{.key = {.stream = stream(),
                                  .sequence = static_cast<std::uint32_t>(own.sequence),
                                  .tag = -1},
                          .fingerprint = stranger->fingerprint};
    const int peer = plan_.ranks[static_cast<std::size_t>(stranger->rank)];
    fail(mismatch(own, peer, theirs), true);
}

void GroupState::look(Engine::Clock::time_point now, std::vector<board::Wait>& waits) {
    if (!under_way_.empty()) compare_cells();
    const Timeout patience =
        plan_.patience > Timeout{0} ? plan_.patience : world_->options().patience;
    bool warned = false;
    for (Operation* operation : under_way_) {
        const auto waited = now - operation->started();
        if (waited < worth_showing) continue;
        // Of many that are started the first says what there is to say.
        const Timeout own = operation->patience();
        if (waited >= (own > Timeout{0} ? own : patience) && operation->lose_patience() &&
            !std::exchange(warned, true))
            warn(complain(*operation, now).text);
        if (waits.size() >= board::most_waits) continue;
        const bool any = operation->record().peer == AnySource::rank;
        // A thread that only started it may still make other calls.
        std::vector<int> ranks =
            operation->is_blocking() ? missing_ranks(*operation) : std::vector<int>();
        std::uint32_t how = any ? board::wait_for_any : 0;
        std::vector<int> needed = ranks;
        std::erase_if(needed, [&](int world_peer) {
            const auto peer = std::ranges::find(plan_.ranks, world_peer) - plan_.ranks.begin();
            return !needs(operation->record(), rank(), static_cast<int>(peer));
        });
        // Where it may end without them, they are still those to look at first.
        if (needed.empty())
            how |= board::wait_may_end;
        else
            ranks = std::move(needed);
        // Any source that is there is enough.
        if (ranks.empty() || (any && ranks.size() != awaited_ranks(*operation).size())) {
            ranks = awaited_ranks(*operation);
            how |= board::wait_may_end;
        }
        if (operation->deadline() - now < soon) how |= board::wait_may_end;
        for (const int rank : ranks)
            waits.push_back({.number = operation->shown_number(), .rank = rank, .how = how});
    }
}

bool GroupState::fail_in_circle(std::uint64_t shown_number, const Error& error) {
    const auto stuck = std::ranges::find(under_way_, shown_number, &Operation::shown_number);
    if (stuck == under_way_.end()) return false;
    fail(error, true);
    return true;
}

}  // namespace trireme
