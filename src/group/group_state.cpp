#include "group/group_state.h"

#include <fmt/format.h>

#include <utility>

#include "algorithm/select.h"
#include "group/operation.h"
#include "group/validate.h"
#include "group/world_state.h"

namespace trireme {

GroupState::GroupState(std::shared_ptr<WorldState> world, GroupPlan plan)
    : world_(std::move(world)), plan_(std::move(plan)) {
    const Engine::Turn turn(engine());
    for (const int rank : plan_.ranks) links_.push_back(&world_->link(rank));
    world_->enter(*this);
}

GroupState::~GroupState() {
    if (engine().after_fork()) return;
    const Engine::Turn turn(engine());
    world_->leave(*this);
}

int GroupState::world_rank() const noexcept { return world_->rank(); }
Engine& GroupState::engine() const noexcept { return world_->engine(); }
const AlgorithmChoice& GroupState::choice() const noexcept { return world_->choice(); }

Engine::Clock::time_point GroupState::deadline(const Op& op, Timeout timeout) const {
    if (op.timeout > Timeout{0}) timeout = op.timeout;
    if (timeout <= Timeout{0}) timeout = world_->options().timeout;
    return Engine::after(timeout);
}

void GroupState::refuse_after_fork() const {
    if (engine().after_fork())
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("group \"{}\" is used after fork, in a child of the process that "
                        "made it; make a World of its own in the child, or use the group in "
                        "the parent only",
                        name()));
}

void GroupState::run(const Op& op, Timeout timeout) {
    refuse_after_fork();
    validate(op, *this);
    Operation operation(*this, op, deadline(op, timeout));
    engine().run(operation);
    if (operation.error()) std::rethrow_exception(operation.error());
}

Work GroupState::start(const Op& op, std::optional<Operand> in, std::optional<Operand> out,
                       Timeout timeout) {
    refuse_after_fork();
    auto operation = std::make_shared<Operation>(shared_from_this(), op, std::move(in),
                                                 std::move(out), deadline(op, timeout));
    validate(operation->op(), *this);
    engine().start(operation);
    return Work(std::move(operation));
}

void GroupState::abort(const std::string& reason) {
    refuse_after_fork();
    const Engine::Turn turn(engine());
    fail(Error(ErrorCode::aborted,
               fmt::format("group \"{}\" was aborted by rank {}: {}", name(), world_rank(), reason),
               {world_rank()}),
         true);
    engine().ready().run();
}

void GroupState::number(OpRecord& record) {
    if (failure_)
        throw Error(failure_->code(),
                    fmt::format("{} on group \"{}\" cannot start, the group has failed: {}",
                                record.describe(), name(), failure_->what()),
                    failure_->ranks());
    if (info(record.kind).point_to_point) {
        record.sequence = ++messages_[{record.kind, record.peer, record.tag}];
        return;
    }
    record.sequence = ++collectives_;
    last_[record.sequence % remembered] = record;
    for (const Link* link : links_) {
        const Envelope* stranger = link->find_stranger(
            stream(), static_cast<std::uint32_t>(record.sequence), record.fingerprint());
        if (stranger == nullptr) continue;
        const Error error = mismatch(record, link->peer(), *stranger);
        fail(error, true);
        engine().ready().run();
        throw Error(error);
    }
}

void GroupState::fail(const Error& error, bool tell) { fail_all(error, tell ? &error : nullptr); }

void GroupState::fail_reported(int by, const Error& error) {
    // Passed on, though whoever found it told everybody: this rank may leave the world now, and its
    // goodbye must not overtake the reason.
    fail_all(Error(error.code(), fmt::format("{} (reported by rank {})", error.what(), by),
                   error.ranks()),
             &error);
}

void GroupState::fail_all(const Error& error, const Error* told) {
    if (failure_) return;
    failure_ = error;
    const std::exception_ptr shared = std::make_exception_ptr(error);
    for (Link* link : links_) {
        link->fail_stream(stream(), shared);
        if (told != nullptr && link->peer() != world_rank()) link->send_abort(stream(), *told);
    }
}

void GroupState::fail_under_way(const Error& cause) {
    if (under_way_.empty()) return fail(cause, true);
    fail(Error(cause.code(),
               fmt::format("{} on group \"{}\": {}", under_way_.front()->record().describe(),
                           name(), cause.what()),
               cause.ranks()),
         true);
}

std::vector<int> GroupState::awaited_ranks() const {
    std::vector<int> ranks;
    for (const Link* link : links_)
        if (link->waits_for_peer(stream())) ranks.push_back(link->peer());
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
    const OpRecord& last = last_[envelope.key.sequence % remembered];
    if (last.sequence != 0) static_cast<void>(compare(last));
}

Error GroupState::mismatch(const OpRecord& own, int peer, const Envelope& theirs) const {
    const std::string their_call = describe_fingerprint(theirs.fingerprint);
    if (info(own.kind).point_to_point)
        return {ErrorCode::mismatch,
                fmt::format("message #{} on group \"{}\": rank {} called {}, rank {} called {}; "
                            "dtype and count of a send and its recv must be equal",
                            own.sequence, name(), peer, their_call, world_rank(), own.describe()),
                {peer, world_rank()}};
    return {ErrorCode::mismatch,
            fmt::format("operation #{} on group \"{}\": rank {} called {}, rank {} called {}; all "
                        "ranks of a group must make the same calls in the same order",
                        own.sequence, name(), peer, their_call, world_rank(), own.describe()),
            {peer, world_rank()}};
}

}  // namespace trireme
