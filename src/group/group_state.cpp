#include "group/group_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithm/select.h"
#include "group/backend_runner.h"
#include "group/coalescing.h"
#include "group/operation.h"
#include "group/validate.h"
#include "group/world_state.h"

namespace trireme {

namespace {

constexpr Timeout time_to_report{1'000};

}  // namespace

GroupState::GroupState(std::shared_ptr<WorldState> world, GroupPlan plan)
    : world_(std::move(world)), plan_(std::move(plan)) {
    const Engine::Turn turn(engine());
    commons_ = std::move(plan_.commons);
    place_ = {.rank = plan_.rank,
              .size = size(),
              .links = plan_.links,
              .hosts = plan_.hosts,
              .blocks = &engine().blocks(),
              .commons = commons_.get()};
    const int hosts = plan_.hosts.empty() ? 1 : 1 + std::ranges::max(plan_.hosts);
    several_hosts_ = hosts > 1 && hosts < size();
    shown_name_ = world_->recorder().enter_group(stream(), name(), rank(), size());
    world_->enter(*this);
}

GroupState::~GroupState() {
    if (engine().after_fork()) {
        static_cast<void>(
            plan_.backend.release());  // NOLINT(bugprone-unused-return-value): the parent's
        return;
    }
    // Whoever fails all groups of the world finds this one until it has left; only then may its
    // backend go, outside the mutex, for its thread may be waiting for that.
    {
        const Engine::Turn turn(engine());
        world_->leave(*this);
        if (commons_) world_->keep_until_mapped(std::move(commons_));
    }
    plan_.backend.reset();
}

int GroupState::world_rank() const noexcept { return world_->rank(); }
Engine& GroupState::engine() const noexcept { return world_->engine(); }

const Algorithm& GroupState::select(const Op& op, const OpRecord& record) const {
    const OpInfo& row = info(op.kind);
    const bool agreed =
        row.counts == Counts::equal || (row.counts != Counts::pairwise && !record.uneven);
    // Of uneven parts all ranks know only the list, not one number that is every rank's.
    const bool commutes = op.reduce.user() == nullptr || op.reduce.user()->commutes();
    return world_->choice().select(
        {.kind = op.kind,
         .bytes = agreed ? record.count * size_of(record.dtype) : 0,
         .ranks = size(),
         .memory = plan_.memory_reachable,
         .commons = commons_ != nullptr,
         .uneven = record.uneven,
         .widened = row.reduces && accumulation_dtype(record.dtype) != record.dtype,
         .several_hosts = several_hosts_,
         .in_rank_order = plan_.reproducible || !commutes});
}

Engine::Clock::time_point GroupState::deadline(const Op& op, Timeout timeout,
                                               Engine::Clock::time_point now) const {
    if (op.timeout > Timeout{0}) timeout = op.timeout;
    if (timeout <= Timeout{0}) timeout = plan_.timeout;
    if (timeout <= Timeout{0}) timeout = world_->options().timeout;
    // The others get to hear from rank 0 who is missing.
    if (op.kind == OpKind::monitored_barrier && rank() != 0) timeout += time_to_report;
    return Engine::after(timeout, now);
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

Backend* GroupState::backend() const noexcept {
    return plan_.backend ? &plan_.backend->backend() : nullptr;
}

void GroupState::refuse_what_backend_cannot(const Op& op) const {
    if (backend() != nullptr && (op.peer == AnySource::rank || !backend()->can(op)))
        throw Error(ErrorCode::unsupported,
                    fmt::format("{} on group \"{}\": its backend cannot do this",
                                OpRecord::make(op, 0).describe(), name()));
}

bool GroupState::open_scope(Coalescing& calls) {
    const std::lock_guard lock(scopes_mutex_);
    if (std::ranges::any_of(scopes_, &Coalescing::is_mine)) return false;
    scopes_.push_back(&calls);
    has_scopes_.store(true, std::memory_order_relaxed);
    return true;
}

void GroupState::close_scope(Coalescing& calls) noexcept {
    const std::lock_guard lock(scopes_mutex_);
    std::erase(scopes_, &calls);
    has_scopes_.store(!scopes_.empty(), std::memory_order_relaxed);
}

Coalescing* GroupState::scope() const noexcept {
    // This thread's own scope it has opened itself.
    if (!has_scopes_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard lock(scopes_mutex_);
    const auto mine = std::ranges::find_if(scopes_, &Coalescing::is_mine);
    return mine != scopes_.end() ? *mine : nullptr;
}

// A blocking message to or from oneself has nobody to meet unless the other side is there.
void GroupState::refuse_lonely(const Op& op) {
    const bool is_self = op.peer == rank() || (op.peer == AnySource::rank && size() == 1);
    if (!info(op.kind).point_to_point || !is_self || backend() != nullptr) return;
    const Engine::Turn turn(engine());
    Link& self = *plan_.links[static_cast<std::size_t>(rank())];
    while (self.poll()) engine().ready().run();  // what was sent may still be on its way
    const bool receives = op.kind == OpKind::recv;
    const auto count = messages_.find({op.kind, rank(), op.tag});
    const std::uint64_t sequence = count == messages_.end() ? 1 : count->second + 1;
    const Key key{plan_.stream, static_cast<std::uint32_t>(sequence), op.tag};
    const bool there = receives
                           ? self.has_message(key)
                           : self.has_receive(key) || self.sends_at_once(op.in.front().bytes());
    if (!there)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} on group \"{}\": this rank would wait for itself; start the "
                                "other side first, with {}",
                                OpRecord::make(op, 0).describe(), name(),
                                receives ? "send or send_async" : "recv_async"));
}

int GroupState::run(const Op& op, const Limits& limits) {
    refuse_after_fork();
    Opening opening;
    if (commons_ && run_short(op, opening)) return -1;
    validate(op, *this);
    refuse_what_backend_cannot(op);
    refuse_lonely(op);
    // Asked once: it is a good part of a short operation's time.
    const auto now = opening.algorithm != nullptr ? opening.begun : Engine::Clock::now();
    Operation operation(*this, op, now, deadline(op, limits.timeout, now), limits);
    if (opening.algorithm != nullptr) operation.take_over(opening);
    engine().run(operation);
    if (operation.error()) std::rethrow_exception(operation.error());
    return operation.source();
}

Work GroupState::start(const Op& op, std::optional<Operand> in, std::optional<Operand> out,
                       const Limits& limits) {
    refuse_after_fork();
    const auto now = Engine::Clock::now();
    auto operation =
        std::make_shared<Operation>(shared_from_this(), op, std::move(in), std::move(out), now,
                                    deadline(op, limits.timeout, now), limits);
    validate(operation->op(), *this);
    refuse_what_backend_cannot(operation->op());
    engine().start(operation);
    return Work(std::move(operation));
}

std::shared_ptr<Execution> GroupState::prepare(const Op& op, std::optional<Operand> in,
                                               std::optional<Operand> out, const Limits& limits) {
    refuse_after_fork();
    // Its time begins when it is started.
    auto operation = std::make_shared<Operation>(shared_from_this(), op, std::move(in),
                                                 std::move(out), Engine::Clock::time_point(),
                                                 Engine::Clock::time_point(), limits);
    validate(operation->op(), *this);
    refuse_what_backend_cannot(operation->op());
    return operation;
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

void GroupState::admit(Operation& operation) {
    OpRecord& record = operation.record();
    refuse_failed(record);
    const bool collective = !info(record.kind).point_to_point;
    if (record.peer == AnySource::rank) {
        operation.show();
        under_way_.push_back(&operation);
        if (const int peer = find_source(record.tag); peer >= 0)
            take_message(operation, peer);
        else
            from_any_.push_back(&operation);
        return;
    }
    number(record);
    operation.show();
    if (collective) refuse_strangers(operation);
    under_way_.push_back(&operation);
    if (collective && (running_ >= most_collectives || !queued_.empty())) {
        queued_.push_back(&operation);
        return;
    }
    if (collective) ++running_;
    operation.launch(record.peer);
}

void GroupState::remove(Operation& operation) noexcept {
    std::erase(under_way_, &operation);
    const bool waited = std::erase(from_any_, &operation) + std::erase(queued_, &operation) != 0;
    if (info(operation.record().kind).point_to_point) return;
    if (!waited) {
        --running_;
        if (commons_) commons_->finish(operation.record().sequence);
    }
    // One that is launched may end at once: then this is called again, inside, and the loop goes
    // on.
    if (launching_) return;
    launching_ = true;
    while (!failure_ && !queued_.empty() && running_ < most_collectives) {
        Operation* next = queued_.front();
        queued_.pop_front();
        ++running_;
        next->launch(next->record().peer);
    }
    launching_ = false;
}

std::uint32_t GroupState::next_message(int peer, int tag) const {
    const auto count = messages_.find({OpKind::recv, peer, tag});
    return static_cast<std::uint32_t>(count == messages_.end() ? 1 : count->second + 1);
}

// The rank whose next message under this tag is here; -1: none's. Looks from another rank on each
// time, so that none starves the others.
int GroupState::find_source(int tag) {
    first_source_ = (first_source_ + 1) % size();
    for (int i = 0; i < size(); ++i) {
        const int peer = (first_source_ + i) % size();
        const Key key{plan_.stream, next_message(peer, tag), tag};
        if (plan_.links[static_cast<std::size_t>(peer)]->has_message(key)) return peer;
    }
    return -1;
}

void GroupState::take_message(Operation& operation, int peer) {
    OpRecord& record = operation.record();
    record.peer = peer;
    number(record);
    operation.launch(peer);
}

void GroupState::message_came(int world_peer, const Envelope& envelope) {
    const auto rank = std::find(plan_.ranks.begin(), plan_.ranks.end(), world_peer);
    if (rank == plan_.ranks.end()) return;
    const int peer = static_cast<int>(rank - plan_.ranks.begin());
    if (next_message(peer, envelope.key.tag) != envelope.key.sequence) return;
    for (auto waiting = from_any_.begin(); waiting != from_any_.end(); ++waiting) {
        Operation& operation = **waiting;
        if (operation.record().tag != envelope.key.tag) continue;
        from_any_.erase(waiting);
        take_message(operation, peer);
        return;
    }
}

std::vector<int> GroupState::other_ranks() const {
    std::vector<int> others;
    for (const int rank : plan_.ranks)
        if (rank != world_rank()) others.push_back(rank);
    return others;
}

void GroupState::refuse_failed(const OpRecord& record) const {
    if (failure_)
        throw Error(failure_->code(),
                    fmt::format("{} on group \"{}\" cannot start, the group has failed: {}",
                                record.describe(), name(), failure_->what()),
                    failure_->ranks());
}

void GroupState::number(OpRecord& record) {
    if (info(record.kind).point_to_point) {
        record.sequence = ++messages_[{record.kind, record.peer, record.tag}];
        return;
    }
    record.sequence = ++collectives_;
    last_.add(record);
}

void GroupState::refuse_strangers(Operation& operation) {
    const OpRecord& record = operation.record();
    for (const Link* link : plan_.links) {
        const Envelope* stranger = link->find_stranger(
            stream(), static_cast<std::uint32_t>(record.sequence), record.fingerprint());
        if (stranger == nullptr) continue;
        const Error error = mismatch(record, link->peer(), *stranger);
        operation.show_end(false);
        fail(error, true);
        engine().ready().run();
        throw Error(error);
    }
}

void GroupState::fail(const Error& error, bool tell) { fail_all(error, tell ? &error : nullptr); }

void GroupState::fail_reported(int by, const Error& error) {
    // What was brought before goes on.
    if (commons_) static_cast<void>(commons_->poll());
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
    if (commons_) commons_->fail(shared);
    for (Link* link : plan_.links) {
        link->fail_stream(stream(), shared);
        if (told != nullptr && link->peer() != world_rank()) link->send_abort(stream(), *told);
    }
    // Before anybody can leave because of it.
    world_->note_failure(error);
    // Those that wait for their turn, or for a message from anywhere, have no transfer that fails.
    while (!queued_.empty()) queued_.back()->complete(shared);
    while (!from_any_.empty()) from_any_.back()->complete(shared);
    if (backend() == nullptr) return;
    backend()->abort(error.what());
    while (!under_way_.empty()) under_way_.back()->complete(shared);
}

void GroupState::fail_under_way(const Error& cause) {
    // What was brought before goes on.
    if (commons_) static_cast<void>(commons_->poll());
    if (under_way_.empty()) return fail(cause, true);
    fail(Error(cause.code(),
               fmt::format("{} on group \"{}\": {}", under_way_.front()->record().describe(),
                           name(), cause.what()),
               cause.ranks()),
         true);
}

void GroupState::member_left(int world_rank, const Error& error) {
    if (!commons_) return;
    static_cast<void>(commons_->poll());
    const auto awaited = commons_->awaited();
    if (std::ranges::any_of(awaited, [&](int rank) {
            return plan_.ranks[static_cast<std::size_t>(rank)] == world_rank;
        }))
        fail_under_way(error);
}

}  // namespace trireme
