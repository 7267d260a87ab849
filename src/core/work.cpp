#include "trireme/work.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "core/execution.h"
#include "trireme/error.h"

namespace trireme {

namespace {

constexpr Timeout grace_in_exception{1'000};

}  // namespace

Work::Work() noexcept = default;
Work::Work(std::shared_ptr<Execution> execution) noexcept
    : execution_(std::move(execution)), exceptions_at_start_(std::uncaught_exceptions()) {}
Work::Work(Work&&) noexcept = default;

Work& Work::operator=(Work&& other) noexcept {
    if (this != &other) {
        finish_borrowed();
        execution_ = std::move(other.execution_);
        exceptions_at_start_ = other.exceptions_at_start_;
    }
    return *this;
}

Work::~Work() { finish_borrowed(); }

// An operation over borrowed memory ends with its handle: at its deadline at the latest, which
// fails the group. A rank that an exception ends must not keep that to itself for so long.
void Work::finish_borrowed() noexcept {
    if (!execution_ || execution_->ended() || !execution_->borrows()) return;
    Engine& engine = execution_->engine();
    try {
        if (std::uncaught_exceptions() <= exceptions_at_start_) {
            engine.wait(*execution_, Engine::Clock::time_point::max());
        } else if (!engine.wait(*execution_, Engine::after(grace_in_exception))) {
            {
                const Engine::Turn turn(engine);
                if (!execution_->ended()) execution_->abandon();
                engine.ready().run();
            }
            engine.wait(*execution_, Engine::Clock::time_point::max());
        }
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
    }
}

void Work::wait() {
    if (!execution_) return;
    execution_->engine().wait(*execution_, Engine::Clock::time_point::max());
    if (execution_->error()) std::rethrow_exception(execution_->error());
}

bool Work::wait_for(Timeout timeout) {
    if (!execution_) return true;
    if (!execution_->engine().wait(*execution_, Engine::after(timeout))) return false;
    if (execution_->error()) std::rethrow_exception(execution_->error());
    return true;
}

bool Work::done() const noexcept { return !execution_ || execution_->ended(); }

std::exception_ptr Work::error() const noexcept {
    return execution_ && execution_->ended() ? execution_->error() : nullptr;
}

void Work::then(std::function<void(std::exception_ptr)> callback) {
    if (execution_) {
        execution_->on_end(std::move(callback));
    } else {
        callback(nullptr);
    }
}

int Work::source() const noexcept {
    return execution_ && execution_->ended() ? execution_->source() : -1;
}

std::string_view Work::algorithm() const noexcept {
    return execution_ ? execution_->algorithm() : std::string_view();
}

void wait_all(std::span<Work> works) {
    std::exception_ptr first;
    for (Work& work : works) {
        try {
            work.wait();
        } catch (const Error&) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

std::size_t wait_any(std::span<Work> works) {
    if (works.empty())
        throw Error(ErrorCode::invalid_argument, "wait_any: there is nothing to wait for");
    for (;;) {
        // Those of the first one's engine are waited for together. Where some belong to another
        // world, each engine has its turn.
        for (std::size_t i = 0; i < works.size(); ++i) {
            if (!works[i].done()) continue;
            works[i].wait();
            return i;
        }
        std::vector<Engine*> engines;
        for (const Work& work : works) {
            Engine* engine = &work.execution_->engine();
            if (std::ranges::find(engines, engine) == engines.end()) engines.push_back(engine);
        }
        for (Engine* engine : engines) {
            std::vector<Execution*> own;
            for (const Work& work : works)
                if (&work.execution_->engine() == engine) own.push_back(work.execution_.get());
            engine->wait_any(own, engines.size() == 1 ? Engine::Clock::time_point::max()
                                                      : Engine::after(Timeout{1}));
        }
    }
}

}  // namespace trireme
