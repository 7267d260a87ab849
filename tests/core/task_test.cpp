// The coroutine type: how it starts, waits, ends, and passes errors on.

#include "core/task.h"

#include <gtest/gtest.h>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace trireme {
namespace {

struct Ending final : Completion {
    void complete(std::exception_ptr thrown) noexcept override {
        ++count;
        error = std::move(thrown);
    }
    [[nodiscard]] std::string text() const {
        try {
            if (error) std::rethrow_exception(error);
        } catch (const std::exception& thrown) {
            return thrown.what();
        }
        return "";
    }
    int count = 0;
    std::exception_ptr error;
};

/// Something to wait for, opened by hand; it cannot be copied, as a transfer cannot.
class Gate {
public:
    explicit Gate(ReadyQueue& queue) : queue_(queue) {}
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    void open() {
        open_ = true;
        if (waiter_) queue_.push(waiter_);
    }
    [[nodiscard]] bool await_ready() const noexcept { return open_; }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
    void await_resume() const noexcept {}

private:
    ReadyQueue& queue_;
    std::coroutine_handle<> waiter_;
    bool open_ = false;
};

using Log = std::vector<std::string>;

Task write(Log& log, const char* text) {
    log.emplace_back(text);
    co_return;
}

Task pass(Gate& gate, Log& log) {
    log.emplace_back("before");
    co_await gate;
    log.emplace_back("after");
}

Task fail_at_once() {
    throw std::runtime_error("at once");
    co_return;
}

Task fail_later(Gate& gate) {
    co_await gate;
    throw std::runtime_error("later");
}

Task two_children(Gate& gate, Log& log) {
    co_await write(log, "first");
    co_await pass(gate, log);
    co_await write(log, "last");
}

Task tree(Gate& gate, int depth, int& leaves) {
    if (depth == 0) {
        co_await gate;
        ++leaves;
        co_return;
    }
    co_await tree(gate, depth - 1, leaves);
    co_await tree(gate, depth - 1, leaves);
}

Task catches(Gate& gate, Log& log) {
    try {
        co_await fail_at_once();
    } catch (const std::runtime_error& error) {
        log.emplace_back(error.what());
    }
    try {
        co_await fail_later(gate);
    } catch (const std::runtime_error& error) {
        log.emplace_back(error.what());
    }
}

Task deep(Gate& gate, int depth) {
    if (depth > 0) {
        co_await deep(gate, depth - 1);
        co_return;
    }
    co_await fail_later(gate);
}

Task large_frame(Gate& gate, int& result) {
    int numbers[5000];
    for (int i = 0; i < 5000; ++i) numbers[i] = i;
    co_await gate;
    for (const int number : numbers) result += number;
}

struct Destroyed {
    explicit Destroyed(int& to_count) : count(to_count) {}
    Destroyed(const Destroyed&) = delete;
    Destroyed& operator=(const Destroyed&) = delete;
    ~Destroyed() { ++count; }
    int& count;
};

Task with_local(Gate& gate, int& destroyed) {
    const Destroyed local(destroyed);
    co_await gate;
}

class TaskTest : public testing::Test {
protected:
    ReadyQueue queue;
    Gate gate{queue};
    Ending ending;
    Log log;
};

TEST_F(TaskTest, IsLazy) {
    {
        const Task never = write(log, "x");
    }
    EXPECT_TRUE(log.empty());
    const Task none;
}

TEST_F(TaskTest, EndsBeforeStartReturns) {
    Task task = write(log, "x");
    task.start(queue, ending);
    EXPECT_EQ(ending.count, 1);
    EXPECT_EQ(ending.error, nullptr);
    EXPECT_EQ(log, Log{"x"});
    EXPECT_FALSE(queue.run());
}

TEST_F(TaskTest, WaitsAndGoesOnFromTheQueue) {
    Task task = pass(gate, log);
    task.start(queue, ending);
    EXPECT_EQ(log, Log{"before"});
    gate.open();
    EXPECT_EQ(ending.count, 0);  // not on the spot
    EXPECT_TRUE(queue.run());
    EXPECT_EQ(log, (Log{"before", "after"}));
    EXPECT_EQ(ending.count, 1);
    EXPECT_TRUE(queue.empty());
}

TEST_F(TaskTest, AnOpenGateCostsNoSuspension) {
    gate.open();
    Task task = two_children(gate, log);
    task.start(queue, ending);
    EXPECT_EQ(ending.count, 1);
    EXPECT_EQ(log, (Log{"first", "before", "after", "last"}));
}

TEST_F(TaskTest, ChildrenRunInOrder) {
    Task task = two_children(gate, log);
    task.start(queue, ending);
    EXPECT_EQ(log, (Log{"first", "before"}));
    gate.open();
    queue.run();
    EXPECT_EQ(log, (Log{"first", "before", "after", "last"}));
    EXPECT_EQ(ending.count, 1);
}

TEST_F(TaskTest, NestedChildren) {
    int leaves = 0;
    Task task = tree(gate, 6, leaves);
    task.start(queue, ending);
    EXPECT_EQ(leaves, 0);
    gate.open();
    queue.run();
    EXPECT_EQ(leaves, 64);
    EXPECT_EQ(ending.count, 1);
}

TEST_F(TaskTest, AnErrorReachesTheCompletion) {
    Task at_once = fail_at_once();
    at_once.start(queue, ending);
    EXPECT_EQ(ending.text(), "at once");
    Ending second;
    Task later = fail_later(gate);
    later.start(queue, second);
    EXPECT_EQ(second.count, 0);
    gate.open();
    queue.run();
    EXPECT_EQ(second.text(), "later");
}

TEST_F(TaskTest, AnErrorPassesThroughChildren) {
    Task task = deep(gate, 20);
    task.start(queue, ending);
    gate.open();
    queue.run();
    EXPECT_EQ(ending.count, 1);
    EXPECT_EQ(ending.text(), "later");
}

TEST_F(TaskTest, AParentMayCatchIt) {
    Task task = catches(gate, log);
    task.start(queue, ending);
    EXPECT_EQ(log, Log{"at once"});
    gate.open();
    queue.run();
    EXPECT_EQ(log, (Log{"at once", "later"}));
    EXPECT_EQ(ending.text(), "");
}

TEST_F(TaskTest, ManyAtOnceAndLargeFrames) {
    constexpr std::size_t count = 2000;
    std::vector<Task> tasks;
    std::vector<std::unique_ptr<Gate>> gates;
    std::vector<Ending> endings(count);
    std::vector<int> results(count);
    for (std::size_t i = 0; i < count; ++i) {
        // Some frames are too large to be recycled.
        gates.push_back(std::make_unique<Gate>(queue));
        tasks.push_back(i % 10 == 0 ? large_frame(*gates[i], results[i]) : fail_later(*gates[i]));
        tasks.back().start(queue, endings[i]);
    }
    for (const auto& one : gates) one->open();
    queue.run();
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(results[i], i % 10 == 0 ? 4999 * 5000 / 2 : 0);
        EXPECT_EQ(endings[i].text(), i % 10 == 0 ? "" : "later");
    }
}

TEST_F(TaskTest, AFrameIsDestroyedOnce) {
    int destroyed = 0;
    {
        Task task = with_local(gate, destroyed);
        task.start(queue, ending);
        Task moved = std::move(task);
        gate.open();
        queue.run();
        EXPECT_EQ(destroyed, 1);
        task = std::move(moved);
    }
    EXPECT_EQ(destroyed, 1);
    EXPECT_EQ(ending.count, 1);
}

TEST_F(TaskTest, TheQueueRunsWhatBecomesReadyMeanwhile) {
    Gate second(queue);
    Ending other;
    Task waits = pass(second, log);
    waits.start(queue, other);
    struct Opens final : Completion {
        explicit Opens(Gate& to_open) : gate(to_open) {}
        void complete(std::exception_ptr) noexcept override { gate.open(); }
        Gate& gate;
    } opens{second};
    Task first = pass(gate, log);
    first.start(queue, opens);
    gate.open();
    EXPECT_TRUE(queue.run());
    EXPECT_EQ(other.count, 1);
}

static_assert(!std::is_copy_constructible_v<Task>);
static_assert(std::is_nothrow_move_constructible_v<Task>);

}  // namespace
}  // namespace trireme
