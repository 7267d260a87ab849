#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "trireme/types.h"

namespace trireme {

class Execution;

/// The handle of a started operation (counterpart: c10d `Work`, `MPI_Request`).
///
/// It keeps tensors and library buffers alive until the operation ends, so a `Work` over them may
/// be dropped. Over memory that the operation only borrows (spans, vectors) the destructor waits,
/// until the operation's deadline at most, and then fails the group: no late write ever reaches
/// memory that its owner has taken back. Where an exception destroys it, it waits a second at most.
class [[nodiscard]] Work {
public:
    /// An empty handle: done, without error.
    Work() noexcept;
    explicit Work(std::shared_ptr<Execution> execution) noexcept;
    Work(Work&&) noexcept;
    Work& operator=(Work&&) noexcept;
    ~Work();

    /// Blocks until the operation ends, driving it meanwhile; throws its `Error`, at its deadline
    /// at the latest. May be called again, and from several threads.
    void wait();

    /// Blocks for `timeout` at most. False: not ended yet, and the operation goes on. Throws the
    /// operation's `Error` if it ended with one.
    [[nodiscard]] bool wait_for(Timeout timeout);

    /// Whether it has ended, well or not; does not block.
    [[nodiscard]] bool done() const noexcept;

    /// What it failed with; null while it runs and where it succeeded.
    [[nodiscard]] std::exception_ptr error() const noexcept;

    /// Calls `callback` with the error, or null, once the operation has ended: on the thread that
    /// ends it, or at once on this one if it has ended already. It must not block or throw.
    void then(std::function<void(std::exception_ptr)> callback);

    /// Of a receive that has ended: the rank of the group that sent the message; else -1.
    [[nodiscard]] int source() const noexcept;

    /// The name of the algorithm that was chosen; empty for an empty handle.
    [[nodiscard]] std::string_view algorithm() const noexcept;

    /// `co_await work` in a coroutine of one's own: resumes it on the thread that ends the
    /// operation, and throws its `Error`.
    [[nodiscard]] auto operator co_await() {
        struct Awaiter {
            Work& work;
            [[nodiscard]] bool await_ready() const noexcept { return work.done(); }
            void await_suspend(std::coroutine_handle<> waiter) const {
                work.then([waiter](const std::exception_ptr&) { waiter.resume(); });
            }
            void await_resume() const { work.wait(); }
        };
        return Awaiter{*this};
    }

private:
    friend std::size_t wait_any(std::span<Work> works);

    void finish_borrowed() noexcept;

    std::shared_ptr<Execution> execution_;
    int exceptions_at_start_ = 0;
};

/// Blocks until all have ended; then throws the first one's `Error` that has one, in the order of
/// the list. Counterpart: MPI_Waitall.
void wait_all(std::span<Work> works);

/// Blocks until one has ended, and returns its place in the list; throws its `Error`. Handles that
/// are empty count as ended. Throws `invalid_argument` for an empty list. Counterpart: MPI_Waitany.
[[nodiscard]] std::size_t wait_any(std::span<Work> works);

}  // namespace trireme
