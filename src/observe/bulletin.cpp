#include "observe/bulletin.h"

#include <fmt/format.h>

#include <algorithm>
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

std::string board_key(int rank) { return fmt::format("board/{}", rank); }

}  // namespace

Bulletin::Bulletin(std::shared_ptr<Store> store, const board::Board& own, World world)
    : store_(std::move(store)), own_(own), world_(std::move(world)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Bulletin::~Bulletin() = default;

void Bulletin::want(const std::vector<int>& ranks) {
    const auto until = Clock::now() + wish;
    const std::lock_guard lock(mutex_);
    busy_until_ = until;
    for (const int rank : ranks) wanted_[rank] = until;
    changed_.notify_all();
}

void Bulletin::hurry() {
    const std::lock_guard lock(mutex_);
    hurried_ = true;
    changed_.notify_all();
}

void Bulletin::run(const std::stop_token& stop) {
    {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, stop, first_beat, [] { return false; })) return;
        if (stop.stop_requested()) return;
    }
    remote_ = world_.remote();
    if (remote_.empty()) return;
    try {
        for (std::uint64_t beat = 1; !stop.stop_requested(); ++beat) {
            put_up(beat);
            fetch();
            if (!await_beat(stop)) break;
        }
        store_->delete_key(board_key(own_.rank));
    } catch (const std::exception&) {
        // Without the store there is nothing to see of other hosts, and that is what will be said.
    }
}

// False where the world ends.
bool Bulletin::await_beat(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto start = Clock::now();
    for (;;) {
        const auto now = Clock::now();
        const auto next = start + (busy_until_ > now ? Clock::duration(fast_beat) : slow_beat);
        if (now >= next || std::exchange(hurried_, false)) return true;
        const bool was_busy = busy_until_ > now;
        changed_.wait_until(lock, stop, next,
                            [&] { return hurried_ || (!was_busy && busy_until_ > Clock::now()); });
        if (stop.stop_requested()) return false;
    }
}

void Bulletin::put_up(std::uint64_t beat) {
    store_->set(board_key(own_.rank), make_excerpt(own_, beat, Clock::now()));
}

void Bulletin::fetch() {
    std::vector<int> ranks;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(wanted_, [](const auto& one) { return one.second < Clock::now(); });
        for (const auto& [rank, until] : wanted_)
            if (std::ranges::find(remote_, rank) != remote_.end()) ranks.push_back(rank);
    }
    for (const int rank : ranks) {
        const std::string key = board_key(rank);
        if (store_->check({&key, 1})) world_.deliver(rank, store_->get(key, store_patience));
    }
}

}  // namespace trireme
