#include "group/operation.h"

#include <fmt/format.h>

#include <utility>

#include "algorithm/prepare.h"
#include "algorithm/select.h"
#include "group/take_operands.h"
#include "group/validate.h"
#include "group/world_state.h"
#include "link/shm/commons.h"

namespace trireme {

Operation::Operation(GroupState& group, const Op& op, Engine::Clock::time_point now,
                     Engine::Clock::time_point deadline, const Limits& limits)
    : Execution(group.engine(), deadline),
      group_(group),
      limits_(limits),
      op_(op),
      asked_peer_(op.peer),
      started_(now) {}

Operation::Operation(std::shared_ptr<GroupState> group, const Op& op, std::optional<Operand> in,
                     std::optional<Operand> out, Engine::Clock::time_point now,
                     Engine::Clock::time_point deadline, const Limits& limits)
    : Execution(group->engine(), deadline),
      kept_group_(std::move(group)),
      group_(*kept_group_),
      limits_(limits),
      op_(op),
      asked_peer_(op.peer),
      in_(std::move(in)),
      out_(std::move(out)),
      started_(now) {
    take_operands(op_, in_ ? &*in_ : nullptr, out_ ? &*out_ : nullptr);
}

void Operation::take_over(const Opening& opening) {
    record_ = *opening.record;
    algorithm_ = opening.algorithm;
    shown_ = opening.shown;
    opened_ = true;
}

void Operation::begin() {
    if (opened_) return group_.continue_opened(*this);
    op_.peer = asked_peer_;
    if (kept_group_ != nullptr && group_.world().options().check_buffers) {
        take_operands(op_, in_ ? &*in_ : nullptr, out_ ? &*out_ : nullptr);
        shadow_.emplace(op_);
    }
    record_ = OpRecord::make(op_, 0);
    // A prepared one keeps its choice.
    if (algorithm_ == nullptr && group_.backend() == nullptr)
        algorithm_ = &group_.select(op_, record_);
    // A literal of the table.
    record_.algorithm = algorithm_ != nullptr ? algorithm_->name.data() : "backend";
    complained_ = false;
    group_.admit(*this);
}

void Operation::launch(int peer) {
    op_.peer = peer;
    if (Backend* backend = group_.backend()) {
        submitted_ = std::make_shared<Operation*>(this);
        // Whatever the backend says of one that has ended, by its deadline perhaps, is too late.
        backend->submit(op_, [own = submitted_](std::exception_ptr error) {
            if (Operation* operation = std::exchange(*own, nullptr))
                operation->complete(std::move(error));
        });
        return;
    }
    const MessageHead head{.key = {.stream = group_.stream(),
                                   .sequence = static_cast<std::uint32_t>(record_.sequence),
                                   .tag = op_.tag},
                           .fingerprint = record_.fingerprint(),
                           .owner = this,
                           .number = record_.sequence};
    // A rank that waits at this one's cell sees at once what it does instead.
    if (Commons* commons = group_.place().commons;
        commons != nullptr && !info(record_.kind).point_to_point &&
        (algorithm_->traits & (needs_commons | meets_in_commons)) == 0 &&
        commons->has_room(head.number)) {
        if (commons->must_compare(head.number)) group_.compare_cells();
        commons->publish(head.number, head.fingerprint);
    }
    call_.emplace(op_, group_.place(), head);
    task_ = needs_preparation(op_) ? run_prepared(*call_, *algorithm_) : algorithm_->run(*call_);
    task_.start(engine().ready(), *this);
}

void Operation::restart() {
    if (in_ && in_->keeper) in_->keeper->refresh();
    if (out_ && out_->keeper) out_->keeper->refresh();
    {
        const Engine::Turn turn(engine());
        started_ = Engine::Clock::now();
        rewind(group_.deadline(op_, limits_.timeout, started_));
    }
    engine().start(shared_from_this());
}

void Operation::expire() {
    const GroupState::Complaint complaint = group_.complain(*this, Engine::Clock::now());
    group_.fail(Error(ErrorCode::timeout, complaint.text, complaint.ranks), true);
}

void Operation::abandon() {
    group_.fail(Error(ErrorCode::peer_lost,
                      fmt::format("{} on group \"{}\": rank {} gave it up because of an exception",
                                  record_.describe(), group_.name(), group_.world_rank()),
                      {group_.world_rank()}),
                true);
}

void Operation::show() {
    shown_ = group_.world().recorder().begin(record_, group_.stream(), group_.shown_name(),
                                             is_blocking(), started_);
}

void Operation::set_awaited(bool awaited) noexcept {
    awaited_ = awaited;
    group_.world().recorder().set_awaited(shown_, awaited);
}

void Operation::will_call_back() noexcept { group_.world().recorder().show_other_callers(); }

void Operation::show_end(bool well) noexcept {
    group_.world().recorder().end(shown_, well, Engine::Clock::now());
}

Error Operation::mismatch(int peer, const Envelope& theirs, std::size_t expected) const {
    // Of an earlier operation it is seen late where not everybody was needed for that.
    const OpRecord* earlier =
        theirs.key.tag < 0 ? group_.earlier(theirs.key.sequence, record_) : nullptr;
    return group_.mismatch(earlier != nullptr ? *earlier : record_, peer, theirs, expected);
}

void Operation::wind_up(std::exception_ptr& error) noexcept {
    show_end(error == nullptr);
    if (submitted_) *submitted_ = nullptr;
    group_.remove(*this);
    const std::string touched = shadow_ ? shadow_->finish() : std::string();
    if (!error) {
        try {
            if (out_) out_->finish();
            if (!touched.empty())
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("{} on group \"{}\": {}, was written before its end; wait "
                                        "for the Work first (found by TRIREME_CHECK_BUFFERS)",
                                        record_.describe(), group_.name(), touched));
        } catch (...) {
            error = std::current_exception();
        }
        return;
    }
    try {
        std::rethrow_exception(error);
    } catch (const Error& failure) {
        if (group_.failed()) {
            error = group_.failure();
            return;
        }
        // A link knows nothing of operations and groups: it says only what became of the peer.
        const Error told = failure.code() == ErrorCode::mismatch
                               ? failure
                               : Error(failure.code(),
                                       fmt::format("{} on group \"{}\": {}", record_.describe(),
                                                   group_.name(), failure.what()),
                                       failure.ranks());
        error = std::make_exception_ptr(told);
        group_.fail(told, true);
    } catch (const std::exception& failure) {
        group_.fail(
            Error(ErrorCode::aborted,
                  fmt::format("{} on group \"{}\" failed on rank {}: {}", record_.describe(),
                              group_.name(), group_.world_rank(), failure.what())),
            true);
    } catch (...) {
        group_.fail(Error(ErrorCode::aborted, "an unknown exception"), true);
    }
}

}  // namespace trireme
