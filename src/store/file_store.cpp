#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "store/deadline.h"
#include "store/file_log.h"
#include "store/limits.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme {
namespace {

using namespace store;
using namespace std::chrono_literals;
using Mode = FileLog::Lock::Mode;

// How long verbs without a timeout wait for the lock, which a living process holds for the time
// of one write.
constexpr Timeout patience = 30s;

// A file tells nobody that it has changed, least of all on another host: waits look again and
// again, soon at first.
constexpr auto shortest_pause = 500us;
constexpr auto longest_pause = 20'000us;

class FileStore final : public Store {
public:
    explicit FileStore(const std::string& path) : log_(path) {
        // Fail now where the file is none of ours or cannot be locked.
        const FileLog::Lock lock(log_, Mode::read, Deadline(patience));
    }

    void set(std::string_view key, std::string_view value) override {
        check_key(key);
        check_value(key, value);
        locked(Mode::write, Deadline(patience), [&] { log_.set(key, value); });
    }

    std::string get(std::string_view key, Timeout timeout) override {
        check_key(key);
        const std::string keys[] = {std::string(key)};
        Value value;
        await(keys, timeout, [&] { value = log_.table().find(key); });
        return *value;
    }

    void wait(std::span<const std::string> keys, Timeout timeout) override {
        check_keys(keys);
        await(keys, timeout, [] {});
    }

    std::int64_t add(std::string_view key, std::int64_t amount) override {
        check_key(key);
        std::int64_t total = 0;
        locked(Mode::write, Deadline(patience), [&] {
            total = log_.table().sum(key, amount);
            log_.set(key, std::to_string(total));
        });
        return total;
    }

    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        check_key(key);
        check_value(key, desired);
        Value value;
        locked(Mode::write, Deadline(patience), [&] {
            if (log_.table().matches(key, expected)) {
                log_.set(key, desired);
            }
            value = log_.table().find(key);
        });
        return value ? *value : std::string();
    }

    bool delete_key(std::string_view key) override {
        check_key(key);
        bool existed = false;
        locked(Mode::write, Deadline(patience), [&] { existed = log_.erase(key); });
        return existed;
    }

    bool check(std::span<const std::string> keys) override {
        check_keys(keys);
        bool all = false;
        locked(Mode::read, Deadline(patience), [&] { all = log_.table().missing(keys).empty(); });
        return all;
    }

    std::int64_t num_keys() override {
        std::size_t number = 0;
        locked(Mode::read, Deadline(patience), [&] { number = log_.table().entries().size(); });
        return static_cast<std::int64_t>(number);
    }

    std::string describe() const override { return fmt::format("file store {}", log_.path()); }

private:
    template <class Action>
    void locked(Mode mode, const Deadline& deadline, Action action) {
        const std::lock_guard guard(mutex_);
        const FileLog::Lock lock(log_, mode, deadline);
        action();
    }

    template <class Action>
    void await(std::span<const std::string> keys, Timeout timeout, Action then) {
        const Deadline deadline(timeout);
        std::chrono::microseconds pause = shortest_pause;
        for (;;) {
            std::vector<std::string> missing;
            // The last look comes right at the deadline, and still needs the lock.
            const Deadline lock_by(deadline.left() + 2s);
            locked(Mode::read, lock_by, [&] {
                missing = log_.table().missing(keys);
                if (missing.empty()) {
                    then();
                }
            });
            if (missing.empty()) {
                return;
            }
            if (deadline.passed()) {
                throw_wait_timeout(describe(), missing, timeout);
            }
            std::this_thread::sleep_for(
                std::min<std::chrono::microseconds>(pause, deadline.left()));
            pause = std::min<std::chrono::microseconds>(pause * 2, longest_pause);
        }
    }

    std::mutex mutex_;  // of the threads of this process, for the time of one look at the file
    FileLog log_;
};

}  // namespace

std::shared_ptr<Store> file_store(const std::string& path) {
    return std::make_shared<FileStore>(path);
}

}  // namespace trireme
