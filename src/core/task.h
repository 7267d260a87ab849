#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include "core/frame_pool.h"
#include "core/ready_queue.h"

namespace trireme {

/// Told when a top-level task has ended.
class Completion {
public:
    virtual void complete(std::exception_ptr error) noexcept = 0;

protected:
    ~Completion() = default;
};

/// The coroutine in which algorithms are written.
///
/// Lazy: it runs when started, or when another task awaits it. It runs on the thread that holds
/// the engine's mutex until it must wait, and goes on from the engine's ready queue. A started task
/// always ends: whatever it waits for is failed when its group fails, so `Task` never destroys a
/// suspended frame. The rules for coroutines are in docs/architecture.md.
class [[nodiscard]] Task {
public:
    struct promise_type;
    using Handle = std::coroutine_handle<promise_type>;

    struct Final {
        bool await_ready() const noexcept { return false; }
        void await_suspend(Handle handle) const noexcept;
        void await_resume() const noexcept {}
    };

    struct promise_type {
        ReadyQueue* queue = nullptr;
        std::coroutine_handle<> parent;
        Completion* completion = nullptr;
        std::exception_ptr error;

        Task get_return_object() noexcept { return Task(Handle::from_promise(*this)); }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        Final final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() noexcept { error = std::current_exception(); }

        /// A variable is awaited through a pointer to it: GCC 12 copies an awaiter that is given as
        /// a reference, and those that matter here cannot be copied.
        template <class Awaitable>
        struct Pointer {
            Awaitable* target;
            bool await_ready() const { return target->await_ready(); }
            void await_suspend(std::coroutine_handle<> waiter) const {
                target->await_suspend(waiter);
            }
            void await_resume() const { target->await_resume(); }
        };
        template <class Awaitable>
        Pointer<Awaitable> await_transform(Awaitable& awaitable) const noexcept {
            return {&awaitable};
        }
        auto await_transform(Task&& child) const noexcept;

        static void* operator new(std::size_t bytes) { return take_frame(bytes); }
        static void operator delete(void* frame, std::size_t bytes) noexcept {
            return_frame(frame, bytes);
        }
    };

    Task() noexcept = default;
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() {
        if (handle_) handle_.destroy();
    }

    /// Runs the task until it first waits; `completion` is told when it ends, perhaps before this
    /// returns.
    void start(ReadyQueue& queue, Completion& completion) {
        handle_.promise().queue = &queue;
        handle_.promise().completion = &completion;
        handle_.resume();
    }

private:
    explicit Task(Handle handle) noexcept : handle_(handle) {}

    Handle handle_;
};

inline void Task::Final::await_suspend(Handle handle) const noexcept {
    promise_type& promise = handle.promise();
    if (promise.parent) {
        promise.queue->push(promise.parent);
    } else if (promise.completion != nullptr) {
        promise.completion->complete(promise.error);
    }
}

/// Awaiting a child: it starts at once, and where it ends without waiting the parent does not
/// suspend either.
inline auto Task::promise_type::await_transform(Task&& child) const noexcept {
    struct Awaiter {
        Handle child;
        bool await_ready() const {
            child.resume();
            return child.done();
        }
        void await_suspend(std::coroutine_handle<> waiter) const noexcept {
            child.promise().parent = waiter;
        }
        void await_resume() const {
            if (child.promise().error) std::rethrow_exception(child.promise().error);
        }
    };
    child.handle_.promise().queue = queue;
    return Awaiter{child.handle_};
}

}  // namespace trireme

/// What a coroutine's parameters refer to is owned by the operation, never by the frame: GCC 12
/// destroys non-trivial parameter copies wrongly in some forms.
template <class... Args>
struct std::coroutine_traits<trireme::Task, Args...> {
    static_assert(((std::is_reference_v<Args> || std::is_trivially_copyable_v<Args>) && ...),
                  "a Task takes references and trivially copyable values only");
    using promise_type = trireme::Task::promise_type;
};
