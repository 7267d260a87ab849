#include <fmt/format.h>

#include <utility>

#include "store/limits.h"
#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme {
namespace {

class PrefixStore final : public Store {
public:
    PrefixStore(std::string prefix, std::shared_ptr<Store> store)
        : prefix_(std::move(prefix) + "/"), store_(std::move(store)) {}

    void set(std::string_view key, std::string_view value) override {
        store_->set(full(key), value);
    }

    std::string get(std::string_view key, Timeout timeout) override {
        return store_->get(full(key), timeout);
    }

    void wait(std::span<const std::string> keys, Timeout timeout) override {
        store_->wait(full(keys), timeout);
    }

    std::int64_t add(std::string_view key, std::int64_t amount) override {
        return store_->add(full(key), amount);
    }

    std::string compare_set(std::string_view key, std::string_view expected,
                            std::string_view desired) override {
        return store_->compare_set(full(key), expected, desired);
    }

    bool delete_key(std::string_view key) override { return store_->delete_key(full(key)); }

    bool check(std::span<const std::string> keys) override { return store_->check(full(keys)); }

    // Those of the whole store: no store can list its keys.
    std::int64_t num_keys() override { return store_->num_keys(); }

    std::string describe() const override {
        return fmt::format("{} (keys under {})", store_->describe(), store::in_quotes(prefix_));
    }

private:
    std::string full(std::string_view key) const { return fmt::format("{}{}", prefix_, key); }

    std::vector<std::string> full(std::span<const std::string> keys) const {
        std::vector<std::string> out;
        out.reserve(keys.size());
        for (const std::string& key : keys) {
            out.push_back(full(key));
        }
        return out;
    }

    std::string prefix_;
    std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> prefix_store(std::string prefix, std::shared_ptr<Store> store) {
    if (store == nullptr) {
        throw Error(ErrorCode::invalid_argument, "prefix_store needs a store, not a null pointer");
    }
    return std::make_shared<PrefixStore>(std::move(prefix), std::move(store));
}

}  // namespace trireme
