#include <chrono>

#include "algorithm/cells.h"
#include "algorithm/prepare.h"
#include "algorithm/select.h"
#include "core/waiter.h"
#include "group/group_state.h"
#include "group/operation.h"
#include "group/world_state.h"

// The short way of a blocking call on little data, on one host.

namespace trireme {

namespace {

// So long a call may hold the engine, with nothing else under way, before it goes the long way.
constexpr std::chrono::microseconds short_wait{200};
constexpr int looks_per_clock = 16;

}  // namespace

// What an algorithm does over `cells`, without a task, an `Operation` and the engine's rounds,
// which together take longer than a cache line between two cores. What this rank brings is shown
// first; the call is written down while the others' lines are on their way; the time of its end is
// that of the last look at the clock. Whatever is not plain goes the long way, from where it
// stands: a peer that does not come soon, a mismatch, a failure.
bool GroupState::run_short(const Op& op, Opening& opening) {
    const Engine::Turn turn(engine());
    if (failure_ || !under_way_.empty() || !engine().rests()) return false;
    OpRecord& record = opening.record;
    record = OpRecord::make(op, collectives_ + 1);
    const Algorithm& row = select(op, record);
    const std::uint64_t number = record.sequence;
    if ((row.traits & needs_commons) == 0 || needs_preparation(op) || op.reduce.user() != nullptr ||
        !commons_->has_room(number) ||
        (commons_->must_compare(number) && commons_->find_stranger(number)))
        return false;

    const Call call(op, place_, {});
    const std::uint64_t fingerprint = record.fingerprint();
    algorithm::bring_to_cell(call, *commons_, number);
    commons_->publish(number, fingerprint);

    record.algorithm = row.name.data();
    ++collectives_;
    last_[number % remembered] = record;
    opening.algorithm = &row;
    opening.begun = Engine::Clock::now();
    opening.shown = world_->recorder().begin(record, stream(), shown_name(), true, opening.begun);

    auto now = opening.begun;
    int looks = 0;
    Waiter waiter;
    for (int rank = 0; rank < size(); ++rank) {
        if (!algorithm::needs_cell_of(call, rank)) continue;
        while (!commons_->has_come(rank, number)) {
            static_cast<void>(waiter.idle());
            if (++looks % looks_per_clock != 0) continue;
            now = Engine::Clock::now();
            if (now - opening.begun > short_wait) return false;
        }
        if (commons_->fingerprint(rank, number) != fingerprint) return false;
    }
    if (commons_->has_uncompared(number) && commons_->find_stranger(number)) return false;
    if (algorithm::needs_all_cells(call)) commons_->compared(number);
    algorithm::take_from_cells(call, *commons_, number);
    commons_->finish(number);
    world_->recorder().end(opening.shown, true, now);
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
