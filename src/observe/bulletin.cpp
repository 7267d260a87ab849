#include "observe/bulletin.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "observe/excerpt.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto slow_beat = 2s;
constexpr auto fast_beat = 300ms;
// When all ranks have found their token: before, boards cannot be told from others'.
constexpr auto first_beat = 1s;
// How long a wish lasts: those who wait repeat theirs.
constexpr auto wish = 1s;
constexpr Timeout store_patience{1'000};
// For the thread to end. A store may be stopped, and keep it for as long as a call may take.
constexpr auto parting = 1s;

std::string board_key(int rank) { return fmt::format("board/{}", rank); }

}  // namespace

// What the thread works with. It may outlive the world, in a call of the store's, and touches
// nothing of it then: all that is the world's is used under `living_`, while there is one.
class Bulletin::Worker {
public:
    Worker(std::shared_ptr<Store> store, const board::Board& own, World world)
        : store_(std::move(store)), own_(&own), rank_(own.rank), world_(std::move(world)) {}

    void run() {
        work();
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

    // Whether the thread has ended, so that it can be joined.
    [[nodiscard]] bool stop() {
        {
            const std::lock_guard lock(living_);
            own_ = nullptr;
        }
        std::unique_lock lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
        return changed_.wait_for(lock, parting, [&] { return ended_; });
    }

    void want(const std::vector<int>& ranks) {
        const auto until = Clock::now() + wish;
        const std::lock_guard lock(mutex_);
        busy_until_ = until;
        for (const int rank : ranks) wanted_[rank] = until;
        changed_.notify_all();
    }

    void hurry() {
        const std::lock_guard lock(mutex_);
        hurried_ = true;
        changed_.notify_all();
    }

private:
    void work() {
        {
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, first_beat, [&] { return stopped_; })) return;
        }
        try {
            with_world([&] { remote_ = world_.remote(); });
            if (remote_.empty()) return;
            for (std::uint64_t beat = 1;; ++beat) {
                put_up(beat);
                fetch();
                if (!await_beat()) break;
            }
            store_->delete_key(board_key(rank_));
        } catch (const std::exception&) {
            // Without the store nothing is to be seen of other hosts, and that is what is said.
        }
    }

    template <class Action>
    void with_world(Action action) {
        const std::lock_guard lock(living_);
        if (own_ != nullptr) action();
    }

    // False where the world ends.
    bool await_beat() {
        std::unique_lock lock(mutex_);
        const auto start = Clock::now();
        while (!stopped_) {
            const auto now = Clock::now();
            const bool busy = busy_until_ > now;
            const auto next = start + (busy ? Clock::duration(fast_beat) : slow_beat);
            if (now >= next || std::exchange(hurried_, false)) return true;
            changed_.wait_until(lock, next, [&] {
                return stopped_ || hurried_ || (!busy && busy_until_ > Clock::now());
            });
        }
        return false;
    }

    void put_up(std::uint64_t beat) {
        std::string excerpt;
        with_world([&] { excerpt = make_excerpt(*own_, beat, Clock::now()); });
        if (!excerpt.empty()) store_->set(board_key(rank_), excerpt);
    }

    void fetch() {
        std::vector<int> ranks;
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(wanted_, [](const auto& one) { return one.second < Clock::now(); });
            for (const auto& [rank, until] : wanted_)
                if (std::ranges::find(remote_, rank) != remote_.end()) ranks.push_back(rank);
        }
        for (const int rank : ranks) {
            const std::string key = board_key(rank);
            if (!store_->check({&key, 1})) continue;
            const std::string excerpt = store_->get(key, store_patience);
            with_world([&] { world_.deliver(rank, excerpt); });
        }
    }

    std::shared_ptr<Store> store_;
    std::mutex living_;
    const board::Board* own_;  // null: there is no world any more
    int rank_;
    World world_;
    std::vector<int> remote_;

    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    bool stopped_ = false;
    bool ended_ = false;
    bool hurried_ = false;
    Clock::time_point busy_until_{};
    std::map<int, Clock::time_point> wanted_;  // until when
};

Bulletin::Bulletin(std::shared_ptr<Store> store, const board::Board& own, World world)
    : worker_(std::make_shared<Worker>(std::move(store), own, std::move(world))),
      thread_([worker = worker_] { worker->run(); }) {}

Bulletin::~Bulletin() {
    if (worker_->stop())
        thread_.join();
    else
        thread_.detach();
}

void Bulletin::want(const std::vector<int>& ranks) { worker_->want(ranks); }
void Bulletin::hurry() { worker_->hurry(); }

}  // namespace trireme
