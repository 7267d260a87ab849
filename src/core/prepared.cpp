#include "trireme/prepared.h"

#include <utility>

#include "core/execution.h"
#include "trireme/error.h"

namespace trireme {

Prepared::Prepared(std::shared_ptr<Execution> execution) noexcept
    : execution_(std::move(execution)) {}
Prepared::Prepared(Prepared&& other) noexcept
    : execution_(std::move(other.execution_)), started_(std::exchange(other.started_, false)) {}

Prepared& Prepared::operator=(Prepared&& other) noexcept {
    if (this != &other) {
        finish();
        execution_ = std::move(other.execution_);
        started_ = std::exchange(other.started_, false);
    }
    return *this;
}

Prepared::~Prepared() { finish(); }

void Prepared::finish() noexcept {
    if (!started_) return;
    try {
        wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
    }
}

void Prepared::start() {
    if (!execution_)
        throw Error(ErrorCode::invalid_argument,
                    "a prepared operation that was moved from, or never made, was started");
    if (started_)
        throw Error(ErrorCode::invalid_argument,
                    "a prepared operation was started again before its last run was waited for");
    execution_->restart();
    started_ = true;
}

void Prepared::wait() {
    if (!started_) return;
    execution_->engine().wait(*execution_, Engine::Clock::time_point::max());
    {
        // Whoever ended it may still be inside its frame, under the mutex.
        const Engine::Turn turn(execution_->engine());
    }
    started_ = false;
    if (execution_->error()) std::rethrow_exception(execution_->error());
}

bool Prepared::done() const noexcept { return !started_ || execution_->ended(); }

}  // namespace trireme
