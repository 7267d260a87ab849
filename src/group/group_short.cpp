#include <chrono>
#include <functional>

#include "algorithm/cells.h"
#include "algorithm/prepare.h"
#include "algorithm/select.h"
#include "core/waiter.h"
#include "group/group_state.h"
#include "group/operation.h"
#include "group/validate.h"
#include "group/world_state.h"

// The short way of a blocking call on little data, on one host.

namespace trireme {

namespace {

// So long a call may hold the engine, with nothing else under way, before it goes the long way.
constexpr std::chrono::microseconds short_wait{200};
// Messages come meanwhile, for which others must not wait until this rank happens to wait itself.
// Counted over all groups of a thread; a prime, so that groups that take turns all get theirs.
constexpr unsigned calls_per_glance = 7;
thread_local unsigned short_calls = 0;
// A short wait is not to take longer for looking at the clock, the time of a longer one not to be
// off by much.
constexpr int bare_looks = 64;
constexpr int looks_per_clock = 8;

// Looks at the clock now and then.
class ShortWait {
public:
    explicit ShortWait(bool crowded) noexcept : waiter_(crowded) {}
    void restart(Engine::Clock::time_point now) noexcept { begun_ = now_ = now; }
    /// False once it has taken too long.
    [[nodiscard]] bool idle() noexcept {
        static_cast<void>(waiter_.idle());
        if (waiter_.last_yield() > now_)
            now_ = waiter_.last_yield();
        else if (const int look = ++looks_;
                 look % (look <= bare_looks ? bare_looks : looks_per_clock) == 0)
            now_ = Engine::Clock::now();
        else
            return true;
        if (begun_ == Engine::Clock::time_point{}) begun_ = now_;
        return now_ - begun_ <= short_wait;
    }
    /// When it looked last.
    [[nodiscard]] Engine::Clock::time_point now() const noexcept { return now_; }

private:
    Waiter waiter_;
    int looks_ = 0;
    Engine::Clock::time_point begun_{};
    Engine::Clock::time_point now_{};
};

// Without, to measure what it costs: nothing is written down and no fingerprint is compared.
#ifdef TRIREME_BARE
constexpr bool is_watched = false;
#else
constexpr bool is_watched = true;
#endif

// One buffer at most on either side, none of them of a kind that needs more than a look.
bool is_plain(const Op& op) noexcept {
    return op.in.size() <= 1 && op.out.size() <= 1 && !op.in_is_list && !op.out_is_list &&
           op.joined == 0 && op.reduce.user() == nullptr;
}

Buffer only(std::span<const Buffer> buffers) noexcept {
    return buffers.empty() ? Buffer{} : buffers.front();
}

bool is_alike(const Buffer& a, const Buffer& b) noexcept {
    return a.count == b.count && a.dtype == b.dtype && a.device == b.device;
}

bool is_there(const Buffer& buffer) noexcept { return buffer.data != nullptr || buffer.count == 0; }

bool are_apart(const Buffer& a, const Buffer& b) noexcept {
    const std::less_equal<> before;
    return before(a.data + a.bytes(), b.data) || before(b.data + b.bytes(), a.data);
}

// Whether a call of the same place differs from one that was found valid in its memory alone, and
// in nothing that could be wrong with that.
bool is_like(const Op& op, const ShortCall& known) noexcept {
    const Buffer in = only(op.in);
    const Buffer out = only(op.out);
    if (!known.known || op.kind != known.kind || op.peer != known.peer ||
        op.site.line() != known.line || op.site.file_name() != known.file ||
        !(op.reduce == known.reduce) || !is_alike(in, known.in) || !is_alike(out, known.out) ||
        !is_there(in) || !is_there(out))
        return false;
    const bool same = in.data == out.data && info(op.kind).shape == Shape::same;
    return same || are_apart(in, out);
}

}  // namespace

void GroupState::learn(const Op& op, ShortCall& known) {
    known.known = false;
    last_.settle(known.record);
    validate(op, *this);
    OpRecord record = OpRecord::make(op, 0);
    const Algorithm& row = select(op, record);
    record.algorithm = row.name.data();
    const bool is_short = (row.traits & needs_commons) != 0 && !needs_preparation(op);
    const Call call(op, place_, MessageHead{});
    const algorithm::CellsTraffic traffic =
        is_short ? algorithm::cells_traffic(call) : algorithm::CellsTraffic{};
    known = {.kind = op.kind,
             .in = only(op.in),
             .out = only(op.out),
             .reduce = op.reduce,
             .peer = op.peer,
             .file = op.site.file_name(),
             .line = op.site.line(),
             .fingerprint = record.fingerprint(),
             .algorithm = is_short ? &row : nullptr,
             .record = record,
             .entry = world_->recorder().entry_of(record, stream(), shown_name(), true),
             .combine = *call.combine(),
             .needs_all = algorithm::needs_all_cells(call),
             .sent = traffic.sent,
             .received = traffic.received,
             .known = true};
}

// What an algorithm does over `cells`, without a task, an `Operation` and the engine's rounds,
// which together take longer than a cache line between two cores. What this rank brings is shown
// first; the call is written down while it is on its way, and only then what the others bring is
// looked at: who looks at a line before it is written takes it away from its writer, and both wait
// for it once more. The time of the end is that of the last look at the clock. Whatever is not
// plain goes the long way, from where it stands: a peer that does not come soon, a mismatch, a
// failure.
//
// Hot: GCC takes what stands behind so many early returns for rarely run, and makes it small
// instead of fast.
[[gnu::hot]] bool GroupState::run_short(const Op& op, Opening& opening) {
    if (!is_plain(op) || info(op.kind).point_to_point) return false;
    const Engine::Turn turn(engine());
    if (failure_ || !under_way_.empty() || !engine().rests()) return false;
    const std::size_t place =
        static_cast<std::size_t>(op.kind) * 4 + static_cast<unsigned>(op.peer) + op.site.line();
    ShortCall& known = short_calls_[place % short_calls_.size()];
    if (!is_like(op, known)) learn(op, known);
    const std::uint64_t number = collectives_ + 1;
    if (known.algorithm == nullptr) return false;
    const int own = rank();
    const int ranks = size();
    ShortWait wait(engine().is_crowded());
    // A root may be that far ahead of the others.
    while (!commons_->has_room(number))
        if (!wait.idle()) return false;
    if (commons_->must_compare(number) && commons_->find_stranger(number)) return false;
    const std::uint64_t fingerprint = known.fingerprint;
    algorithm::bring_to_cell(op, own, *commons_, number);
    commons_->publish(number, fingerprint);

    const auto needs = [&](int peer) {
        return peer != own && (known.needs_all || peer == op.peer);
    };

    collectives_ = number;
    const auto write_down = [&] {
        last_.add(known.record, number);
        opening.begun = engine().quick_now();
        opening.shown = world_->recorder().begin(known.entry, number, opening.begun);
    };
    const auto go_on_long = [&] {
        if constexpr (!is_watched) write_down();
        opening.record = std::make_unique<OpRecord>(last_.at(number));
        opening.algorithm = known.algorithm;
        return false;
    };
    if constexpr (is_watched) write_down();

    wait.restart(opening.begun);
    for (int peer = 0; peer < ranks; ++peer) {
        if (peer == own) continue;
        if constexpr (is_watched) {
            Traffic& traffic = plan_.links[static_cast<std::size_t>(peer)]->traffic();
            traffic.count_sent(known.sent);
            if (needs(peer)) traffic.count_received(known.received);
        }
    }
    for (int peer = 0; peer < ranks; ++peer) {
        if (!needs(peer)) continue;
        while (!commons_->has_come(peer, number))
            if (!wait.idle()) return go_on_long();
        if (is_watched && commons_->fingerprint(peer, number) != fingerprint) return go_on_long();
    }
    if (is_watched && commons_->has_uncompared(number) && commons_->find_stranger(number))
        return go_on_long();
    if (known.needs_all) {
        commons_->compared(number);
        commons_->learn_room(number);
    }
    algorithm::take_from_cells(Call(op, place_, known.combine), *commons_, number);
    commons_->finish(number);
    if constexpr (is_watched) world_->recorder().end(opening.shown, true, wait.now());
    if (++short_calls % calls_per_glance == 0) engine().glance();
    return true;
}

void GroupState::continue_opened(Operation& operation) {
    if (failure_) operation.show_end(false);
    refuse_failed(operation.record());
    refuse_strangers(operation);
    under_way_.push_back(&operation);
    ++running_;
    operation.launch(operation.record().peer);
}

}  // namespace trireme
