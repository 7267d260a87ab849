#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/block_pool.h"
#include "core/fork.h"
#include "core/ready_queue.h"
#include "core/tick_clock.h"
#include "trireme/types.h"

namespace trireme {

class Execution;
class Control;

/// Something that the engine looks at: a link.
class Pollable {
public:
    Pollable() = default;
    Pollable(const Pollable&) = delete;
    Pollable& operator=(const Pollable&) = delete;
    virtual ~Pollable() = default;

    /// Looks, moves what can be moved, and returns whether anything did. Called on every round.
    virtual bool poll() = 0;
    /// Called when a descriptor watched for it is ready.
    virtual bool descriptor_ready() = 0;
};

/// Wants to have a look now and then while something is under way.
class Watcher {
public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    virtual ~Watcher() = default;

    /// Under the engine's mutex.
    virtual void look(std::chrono::steady_clock::time_point now) = 0;
};

/// Drives the links and tasks of one world.
///
/// There is no thread of its own: whoever waits for an operation drives the engine of its world,
/// one thread at a time, under `mutex()`. Operations that were started and that nobody waits for
/// are driven by the process's control thread, which sleeps on `descriptor()`.
///
/// **Sleeping.** A peer on the same host puts a message into shared memory and then looks at this
/// process's sleep flag; only when it is set does it ring the doorbell, an eventfd. Whoever goes to
/// sleep sets the flag, makes every processor see it (membarrier, so that the sender needs no fence
/// of its own), looks once more, and sleeps.
class Engine {
public:
    using Clock = std::chrono::steady_clock;

    /// The mutex for a while. On the way out it releases what has ended and calls its callbacks,
    /// which must not happen under the mutex.
    class Turn {
    public:
        explicit Turn(Engine& engine) : engine_(engine), lock_(engine.mutex_) {}
        Turn(Engine& engine, std::try_to_lock_t)
            : engine_(engine), lock_(engine.mutex_, std::try_to_lock) {}
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn();

        [[nodiscard]] bool owned() const noexcept { return lock_.owns_lock(); }

    private:
        Engine& engine_;
        std::unique_lock<std::mutex> lock_;
    };

    /// `timeout` from now, or a hundred years: what is longer than a clock can count means never.
    [[nodiscard]] static Clock::time_point after(Timeout timeout,
                                                 Clock::time_point now = Clock::now()) noexcept {
        constexpr Timeout never = std::chrono::hours(24 * 365 * 100);
        return now + (timeout < never ? timeout : never);
    }

    Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    /// Takes the engine away from the control thread; to be called before its world ends.
    void stop();

    /// Whether this is a forked child of the process that the engine belongs to: then it must not
    /// be driven, and what hangs on it must not be closed for the parent.
    [[nodiscard]] bool after_fork() const noexcept { return fork_generation() != born_; }

    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
    [[nodiscard]] ReadyQueue& ready() noexcept { return ready_; }
    [[nodiscard]] BlockPool& blocks() noexcept { return blocks_; }

    /// Under the mutex: looks at everything once, also at descriptors that only tell of a death.
    void look_around();
    /// Under the mutex: looks once at what costs no system call.
    void glance() { static_cast<void>(poll()); }

    /// Adds something to look at: on every round if `every_round`, and when `descriptor` (unless
    /// -1) becomes readable.
    void add(Pollable& pollable, bool every_round, int descriptor);
    void remove(Pollable& pollable, int descriptor) noexcept;
    /// Whether `descriptor` should also wake for room to write.
    void watch_writable(Pollable& pollable, int descriptor, bool wanted) noexcept;

    /// Under the mutex: lets `watcher` look every 200 ms while something is under way; null: none.
    void set_watcher(Watcher* watcher) noexcept { watcher_ = watcher; }

    /// The time, for those that a look at the clock would hold up.
    [[nodiscard]] Clock::time_point quick_now() noexcept { return tick_clock_.now(); }

    /// Before anybody waits: whether this host has more ranks than processors: see `Waiter`.
    void set_crowded(bool crowded) noexcept { crowded_ = crowded; }
    [[nodiscard]] bool is_crowded() const noexcept { return crowded_; }

    /// Under the mutex: whether nothing at all is under way. Then whoever drives it is awake, and
    /// peers need not ring.
    [[nodiscard]] bool rests() noexcept {
        if (!in_flight_.empty() || !ready_.empty()) return false;
        if (sleep_flag_->load(std::memory_order_relaxed) != 0) disarm();
        return true;
    }

    /// Runs `execution` from start to end on this thread, as a blocking call.
    void run(Execution& execution);

    /// Starts `execution` and returns; whoever waits, or the control thread, goes on with it.
    void start(const std::shared_ptr<Execution>& execution);

    /// Drives until `execution` has ended, or until `until`; returns whether it has ended.
    bool wait(Execution& execution, Clock::time_point until);

    /// Drives until one of these, all of this engine, has ended, or until `until`.
    void wait_any(std::span<Execution* const> executions, Clock::time_point until);

    /// Drives until everything that was started has ended, at its deadline at the latest.
    void drain();

    /// Under the mutex: `execution` has ended.
    void ended(Execution& execution) noexcept;

    /// A scratch block that stays in cache, for reductions that cannot take place where the bytes
    /// lie; its contents last until the next use of it.
    [[nodiscard]] std::span<std::byte> scratch() noexcept {
        return {scratch_.get(), scratch_bytes};
    }

    // --- For the process's peers and its control thread ----------------------------------------

    /// The eventfd that peers ring.
    [[nodiscard]] int doorbell() const noexcept { return doorbell_; }
    /// Under the mutex: puts the flag that tells them to into shared memory; null: back here.
    void set_sleep_flag(std::atomic<std::uint32_t>* flag) noexcept;

    /// The control thread's turn: drives until nothing moves, and says until when it may sleep on
    /// `descriptor()`; nothing if it is not needed until the engine summons it.
    [[nodiscard]] std::optional<Clock::time_point> background_turn();
    /// Readable whenever there may be something to do.
    [[nodiscard]] int descriptor() const noexcept { return epoll_; }

private:
    static constexpr std::size_t scratch_bytes = 256 * 1024;

    bool poll();
    bool poll_descriptors();
    bool background_round(std::optional<Clock::time_point>& next);
    void look_after(Clock::time_point now);
    [[nodiscard]] Clock::time_point next_deadline() noexcept;
    [[nodiscard]] bool arm();
    void disarm() noexcept;
    template <class Ended>
    bool drive(Ended ended, Clock::time_point until, Execution* awaited = nullptr);
    template <class Ended>
    void sleep(Ended ended, Clock::time_point until);
    void leave_to_background();

    const int born_ = fork_generation();
    const std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
    std::mutex mutex_;
    ReadyQueue ready_;
    BlockPool blocks_;
    std::vector<Pollable*> pollables_;
    std::vector<Execution*> in_flight_;                   // those that did not end at once
    std::vector<std::shared_ptr<Execution>> background_;  // the started ones among them
    std::vector<std::shared_ptr<Execution>> retired_;     // ended, to be released outside the mutex
    std::unique_ptr<std::byte[]> scratch_;
    int epoll_ = -1;
    int doorbell_ = -1;
    bool crowded_ = false;
    TickClock tick_clock_;
    std::uint32_t rounds_ = 0;
    int descriptors_that_work_ = 0;  // descriptors of pollables that are not looked at every round
    int drivers_ = 0;                // threads inside `wait`
    int sleepers_ = 0;               // ... that sleep
    bool parked_ = true;             // the control thread must be summoned
    std::atomic<std::uint32_t> own_flag_{0};
    std::atomic<std::uint32_t>* sleep_flag_ = &own_flag_;
    Watcher* watcher_ = nullptr;
    Clock::time_point next_look_{};
    std::shared_ptr<Control> control_;
};

}  // namespace trireme
