#include "core/engine.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/control.h"
#include "core/execution.h"
#include "core/membarrier.h"
#include "core/waiter.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using namespace std::chrono_literals;

constexpr int rounds_in_one_turn = 32;
// How often descriptors are looked at that only tell that a peer has died.
constexpr std::uint32_t rounds_per_look = 1024;
constexpr std::uint32_t idles_per_clock = 64;
// Without membarrier a ring of the bell can be missed; then nobody sleeps longer than this.
constexpr auto blind_sleep = 1ms;
constexpr auto longest_sleep = 1s;
constexpr auto between_looks = 200ms;

[[noreturn]] void throw_errno(const char* what) {
    throw Error(ErrorCode::system, fmt::format("{} failed: {}", what, std::strerror(errno)));
}

}  // namespace

Engine::Turn::~Turn() {
    if (!lock_.owns_lock()) return;
    if (engine_.retired_.empty()) return;
    // Kept from one time to the next, so that nothing is allocated; a callback that comes here
    // again finds none.
    thread_local std::vector<std::shared_ptr<Execution>> spare;
    std::vector<std::shared_ptr<Execution>> retired = std::move(spare);
    retired.swap(engine_.retired_);
    lock_.unlock();
    for (const auto& execution : retired)
        for (const auto& callback : execution->callbacks_) callback(execution->error());
    retired.clear();
    spare = std::move(retired);
}

Engine::Engine() : scratch_(std::make_unique<std::byte[]>(scratch_bytes)) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) throw_errno("epoll_create1");
    doorbell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (doorbell_ < 0) {
        ::close(epoll_);
        throw_errno("eventfd");
    }
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, doorbell_, &event);
    static_cast<void>(register_for_membarrier());
    control_ = Control::instance();
    control_->attach(*this);
}

Engine::~Engine() {
    *gone_ = true;
    stop();
    ::close(doorbell_);
    ::close(epoll_);
}

void Engine::stop() {
    if (!control_) return;
    if (after_fork()) {
        // The thread did not come along; joining what is not there would hang.
        new std::shared_ptr<Control>(std::move(control_));  // NOLINT: left to the process's end
        return;
    }
    control_->detach(*this);
    control_.reset();
}

void Engine::add(Pollable& pollable, bool every_round, int descriptor) {
    if (every_round) pollables_.push_back(&pollable);
    if (descriptor < 0) return;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = &pollable}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) throw_errno("epoll_ctl");
    if (!every_round) ++descriptors_that_work_;
}

void Engine::remove(Pollable& pollable, int descriptor) noexcept {
    const bool every_round = std::erase(pollables_, &pollable) != 0;
    if (descriptor < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr) != 0) return;
    if (!every_round) --descriptors_that_work_;
}

void Engine::watch_writable(Pollable& pollable, int descriptor, bool wanted) noexcept {
    if (descriptor < 0) return;
    epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.ptr = &pollable}};
    if (wanted) event.events |= EPOLLOUT;
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event);
}

void Engine::set_sleep_flag(std::atomic<std::uint32_t>* flag) noexcept {
    sleep_flag_ = flag != nullptr ? flag : &own_flag_;
}

bool Engine::poll() {
    bool moved = ready_.run();
    // By index: a link that breaks takes itself out of the list.
    for (std::size_t i = 0; i < pollables_.size(); ++i) moved = pollables_[i]->poll() || moved;
    if (descriptors_that_work_ > 0 || ++rounds_ % rounds_per_look == 0)
        moved = poll_descriptors() || moved;
    return ready_.run() || moved;
}

void Engine::look_around() {
    static_cast<void>(poll_descriptors());
    static_cast<void>(poll());
}

bool Engine::poll_descriptors() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    bool moved = false;
    for (int i = 0; i < count; ++i) {
        if (events[static_cast<std::size_t>(i)].data.ptr == nullptr) {
            // It stays audible until all that sleep have heard it.
            if (sleepers_ > 0) continue;
            std::uint64_t rings = 0;
            [[maybe_unused]] const auto ignored = ::read(doorbell_, &rings, sizeof(rings));
        } else {
            auto* pollable = static_cast<Pollable*>(events[static_cast<std::size_t>(i)].data.ptr);
            moved = pollable->descriptor_ready() || moved;
        }
    }
    return moved;
}

void Engine::run(Execution& execution) {
    {
        Turn turn(*this);
        execution.begin();
        for (int round = 0; round < rounds_in_one_turn && !execution.ended(); ++round) poll();
        ready_.run();  // it may have moved others along
        if (execution.ended()) return;
        in_flight_.push_back(&execution);
    }
    wait(execution, Clock::time_point::max());
    // Whoever ended it may still be inside its frame, under the mutex.
    const Turn turn(*this);
}

void Engine::start(const std::shared_ptr<Execution>& execution) {
    Turn turn(*this);
    execution->begin();
    ready_.run();  // it may have moved others along
    if (execution->ended()) return;
    in_flight_.push_back(execution.get());
    background_.push_back(execution);
    execution->in_background_ = true;
    if (drivers_ == 0) leave_to_background();
}

void Engine::ended(Execution& execution) noexcept {
    std::erase(in_flight_, &execution);
    if (execution.in_background_) {
        const auto own = std::find_if(background_.begin(), background_.end(),
                                      [&](const auto& kept) { return kept.get() == &execution; });
        retired_.push_back(std::move(*own));
        background_.erase(own);
    }
    if (sleepers_ > 0) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto ignored = ::write(doorbell_, &one, sizeof(one));
    }
}

bool Engine::wait(Execution& execution, Clock::time_point until) {
    if (execution.ended()) return true;
    // Who waits for a while only will go on by itself.
    const bool for_good = until == Clock::time_point::max();
    return drive([&] { return execution.ended(); }, until, for_good ? &execution : nullptr);
}

void Engine::wait_any(std::span<Execution* const> executions, Clock::time_point until) {
    drive([&] { return std::ranges::any_of(executions, &Execution::ended); }, until);
}

template <class Ended>
bool Engine::drive(Ended ended, Clock::time_point until, Execution* awaited) {
    {
        const Turn turn(*this);
        if (awaited != nullptr) awaited->set_awaited(true);
        ++drivers_;
        disarm();
    }
    Waiter waiter(crowded_);
    std::uint32_t idles = 0;
    while (!ended()) {
        bool moved = false;
        {
            Turn turn(*this, std::try_to_lock);
            if (turn.owned()) moved = poll();
        }
        if (moved) {
            waiter.reset();
            continue;
        }
        if (waiter.idle() == Waiter::Step::sleep) {
            sleep(ended, until);
        } else if (++idles % idles_per_clock != 0) {
            continue;
        }
        const auto now = Clock::now();
        if (now >= until) break;
        Turn turn(*this);
        look_after(now);
        ready_.run();
    }
    Turn turn(*this);
    if (awaited != nullptr) awaited->set_awaited(false);
    if (--drivers_ == 0 && !background_.empty()) leave_to_background();
    return ended();
}

// What is overdue fails.
void Engine::look_after(Clock::time_point now) {
    // By index from the back: an execution that ends takes itself, and perhaps others, out.
    for (std::size_t i = in_flight_.size(); i-- > 0;)
        if (i < in_flight_.size() && in_flight_[i]->deadline() <= now) in_flight_[i]->expire();
    if (watcher_ == nullptr || in_flight_.empty() || now < next_look_) return;
    next_look_ = now + between_looks;
    watcher_->look(now);
}

// Also when to look again: not at once, where nobody has waited for a while.
Engine::Clock::time_point Engine::next_deadline() noexcept {
    auto next = Clock::time_point::max();
    if (watcher_ != nullptr && !in_flight_.empty()) {
        const auto now = Clock::now();
        if (next_look_ <= now) next_look_ = now + between_looks;
        next = next_look_;
    }
    for (const Execution* execution : in_flight_) next = std::min(next, execution->deadline());
    return next;
}

void Engine::drain() {
    for (;;) {
        std::shared_ptr<Execution> next;
        {
            const Turn turn(*this);
            if (background_.empty()) return;
            next = background_.front();
        }
        wait(*next, Clock::time_point::max());
    }
}

// From here on peers ring the bell; returns whether there was something to do after all.
bool Engine::arm() {
    sleep_flag_->store(1, std::memory_order_relaxed);
    membarrier_all();
    return poll();
}

void Engine::disarm() noexcept {
    if (sleepers_ == 0) sleep_flag_->store(0, std::memory_order_relaxed);
}

template <class Ended>
void Engine::sleep(Ended ended, Clock::time_point until) {
    {
        Turn turn(*this);
        if (ended()) return;
        ++sleepers_;
        if (arm() || ended()) {
            --sleepers_;
            disarm();
            return;
        }
        until = std::min(until, next_deadline());
    }
    auto patience = std::min<Clock::duration>(until - Clock::now(), longest_sleep);
    if (!register_for_membarrier()) patience = std::min<Clock::duration>(patience, blind_sleep);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
    epoll_event event;
    ::epoll_wait(epoll_, &event, 1, static_cast<int>(std::max<std::int64_t>(ms, 0)));
    Turn turn(*this);
    --sleepers_;
    disarm();
    poll_descriptors();  // also empties the doorbell
}

// Work is in flight and nobody waits for it: let the control thread sleep on it.
void Engine::leave_to_background() {
    while (arm() && !background_.empty()) {
    }
    if (background_.empty() || !parked_) return;
    parked_ = false;
    control_->summon(*this);
}

std::optional<Engine::Clock::time_point> Engine::background_turn() {
    // What ends calls back at the end of a round, and that may end the world, and with it this.
    const std::shared_ptr<const bool> gone = gone_;
    std::optional<Clock::time_point> next;
    for (bool busy = true; busy;) {
        busy = background_round(next);
        if (*gone) return std::nullopt;
    }
    return next;
}

// Returns whether there may be more to do; else when, in `next`.
bool Engine::background_round(std::optional<Clock::time_point>& next) {
    Turn turn(*this);
    if (drivers_ > 0 || background_.empty()) {
        parked_ = true;
        next = std::nullopt;
        return false;
    }
    disarm();
    poll_descriptors();
    look_after(Clock::now());
    if (poll() || arm()) return true;
    if (background_.empty()) return true;
    const auto longest =
        register_for_membarrier() ? Clock::duration(longest_sleep) : Clock::duration(blind_sleep);
    next = std::min(next_deadline(), Clock::now() + longest);
    return false;
}

}  // namespace trireme
