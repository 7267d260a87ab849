#include "trireme/work.h"

#include <utility>

#include "core/execution.h"
#include "trireme/error.h"

namespace trireme {

Work::Work() noexcept = default;
Work::Work(std::shared_ptr<Execution> execution) noexcept : execution_(std::move(execution)) {}
Work::Work(Work&&) noexcept = default;

Work& Work::operator=(Work&& other) noexcept {
    if (this != &other) {
        finish_borrowed();
        execution_ = std::move(other.execution_);
    }
    return *this;
}

Work::~Work() { finish_borrowed(); }

// An operation over borrowed memory ends with its handle: at its deadline at the latest, which
// fails the group.
void Work::finish_borrowed() noexcept {
    if (!execution_ || execution_->ended() || !execution_->borrows()) return;
    try {
        execution_->engine().wait(*execution_, Engine::Clock::time_point::max());
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

}  // namespace trireme
