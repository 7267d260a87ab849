#include <condition_variable>
#include <mutex>

#include "store/deadline.h"
#include "store/limits.h"
#include "store/table.h"
#include "trireme/store.h"

namespace trireme {
namespace {

using namespace store;

class MemoryStore final : public Store {
public:
    void set(std::string_view key, std::string_view value) override {
        check_key(key);
        check_value(key, value);
        const std::lock_guard lock(mutex_);
        put(key, value);
    }

    std::string get(std::string_view key, Timeout timeout) override {
        check_key(key);
        const std::string keys[] = {std::string(key)};
        std::unique_lock lock(mutex_);
        await(lock, keys, timeout);
        const Value value = table_.find(key);
        lock.unlock();
        return *value;
    }

    void wait(std::span<const std::string> keys, Timeout timeout) override {
        check_keys(keys);
        std::unique_lock lock(mutex_);
        await(lock, keys, timeout);
    }

    std::int64_t add(std::string_view key, std::int64_t amount) override {
        check_key(key);
        const std::lock_guard lock(mutex_);
        const std::int64_t total = table_.sum(key, amount);
        put(key, std::to_string(total));
        return total;
    }

    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        check_key(key);
        check_value(key, desired);
        const std::lock_guard lock(mutex_);
        if (table_.matches(key, expected)) {
            put(key, desired);
            return std::string(desired);
        }
        const Value value = table_.find(key);
        return value ? *value : std::string();
    }

    bool delete_key(std::string_view key) override {
        check_key(key);
        const std::lock_guard lock(mutex_);
        return table_.erase(key);
    }

    bool check(std::span<const std::string> keys) override {
        check_keys(keys);
        const std::lock_guard lock(mutex_);
        return table_.missing(keys).empty();
    }

    std::int64_t num_keys() override {
        const std::lock_guard lock(mutex_);
        return static_cast<std::int64_t>(table_.entries().size());
    }

    std::string describe() const override { return "memory store"; }

private:
    void put(std::string_view key, std::string_view value) {
        table_.set(key, value);
        changed_.notify_all();
    }

    void await(std::unique_lock<std::mutex>& lock, std::span<const std::string> keys,
               Timeout timeout) {
        const Deadline deadline(timeout);
        const auto there = [&] { return table_.missing(keys).empty(); };
        if (!changed_.wait_until(lock, deadline.time(), there)) {
            throw_wait_timeout(describe(), table_.missing(keys), timeout);
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    Table table_;
};

}  // namespace

std::shared_ptr<Store> memory_store() { return std::make_shared<MemoryStore>(); }

}  // namespace trireme
