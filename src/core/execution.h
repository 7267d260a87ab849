#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <vector>

#include "core/engine.h"
#include "core/task.h"

namespace trireme {

/// One operation from its start to its end, as the engine and `Work` see it.
class Execution : public Completion {
public:
    Execution(Engine& engine, Engine::Clock::time_point deadline) noexcept
        : engine_(engine), deadline_(deadline) {}
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;
    virtual ~Execution() = default;

    /// Under the engine's mutex: starts it; it may end before this returns.
    virtual void begin() = 0;

    /// Under the engine's mutex: its deadline has passed; must make it end, with an error.
    virtual void expire() = 0;

    /// Under the engine's mutex: an exception leaves the scope of its buffers; must make it end,
    /// with an error.
    virtual void abandon() { expire(); }

    /// Whether it uses memory that it does not keep alive.
    [[nodiscard]] virtual bool borrows() const noexcept = 0;

    /// Of a receive: the rank of the group that the message came from, once it has ended; else -1.
    [[nodiscard]] virtual int source() const noexcept { return -1; }

    /// The algorithm that was chosen; empty before.
    [[nodiscard]] virtual const char* algorithm() const noexcept { return ""; }

    /// Under the engine's mutex: a thread begins, or ends, to wait for its end.
    virtual void set_awaited(bool /*awaited*/) noexcept {}
    /// Under the engine's mutex: its end will call a function.
    virtual void will_call_back() noexcept {}

    /// Starts one that was prepared, and has not been started or has ended, anew.
    virtual void restart() {}

    [[nodiscard]] Engine& engine() const noexcept { return engine_; }
    [[nodiscard]] Engine::Clock::time_point deadline() const noexcept { return deadline_; }
    [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    /// Once it has ended: what it failed with, or null.
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

    /// Calls `callback` when it has ended, outside the engine's mutex.
    void on_end(std::function<void(std::exception_ptr)> callback);

    void complete(std::exception_ptr error) noexcept final;

protected:
    /// Under the engine's mutex, before anyone learns that it has ended; may replace the error.
    virtual void wind_up(std::exception_ptr& error) noexcept = 0;

    /// Under the engine's mutex: as if it had never run.
    void rewind(Engine::Clock::time_point deadline) noexcept {
        deadline_ = deadline;
        error_ = nullptr;
        in_background_ = false;
        ended_.store(false, std::memory_order_relaxed);
    }

private:
    friend class Engine;

    Engine& engine_;
    Engine::Clock::time_point deadline_;
    std::exception_ptr error_;
    std::atomic<bool> ended_{false};
    bool in_background_ = false;
    std::vector<std::function<void(std::exception_ptr)>> callbacks_;
};

}  // namespace trireme
