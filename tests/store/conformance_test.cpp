// What every store must do, whatever it is made of.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "store/support.h"

namespace trireme::test {
namespace {

/// A store of one kind, and further clients of it.
class Fixture {
public:
    explicit Fixture(std::string kind) : kind_(std::move(kind)) {
        if (kind_ == "memory") {
            memory_ = memory_store();
        } else if (kind_ != "file") {
            server_ = std::make_unique<TcpStoreServer>();
        }
    }

    std::shared_ptr<Store> client() const {
        if (kind_ == "memory") {
            return memory_;
        }
        if (kind_ == "file") {
            return file_store(dir_ / "store");
        }
        auto store = tcp_store("127.0.0.1", server_->port(), plenty);
        return kind_ == "tcp" ? store : prefix_store("job/7", std::move(store));
    }

private:
    std::string kind_;
    std::shared_ptr<Store> memory_;
    std::unique_ptr<TcpStoreServer> server_;
    TempDir dir_;
};

class StoreTest : public testing::TestWithParam<const char*> {
protected:
    Fixture fixture_{GetParam()};
    std::shared_ptr<Store> store_ = fixture_.client();
};

using Keys = std::vector<std::string>;

TEST_P(StoreTest, GetReturnsWhatWasSet) {
    store_->set("key", "first");
    EXPECT_EQ(store_->get("key", plenty), "first");
    store_->set("key", "second");
    EXPECT_EQ(store_->get("key", plenty), "second");
    EXPECT_EQ(fixture_.client()->get("key", plenty), "second");
}

TEST_P(StoreTest, ValuesAreAnyBytes) {
    std::string bytes(256, '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    store_->set("bytes", bytes);
    EXPECT_EQ(store_->get("bytes", plenty), bytes);
    store_->set("empty", "");
    EXPECT_EQ(store_->get("empty", plenty), "");
    EXPECT_TRUE(store_->check(Keys{"empty"}));
    const std::string key("a\0b\n/\xff", 6);
    store_->set(key, "odd key");
    EXPECT_EQ(store_->get(key, plenty), "odd key");
}

TEST_P(StoreTest, ValuesMayBeLarge) {
    std::string large(std::size_t{8} << 20, 'x');
    large.front() = 'a';
    large.back() = 'z';
    store_->set("large", large);
    EXPECT_EQ(fixture_.client()->get("large", plenty), large);
    EXPECT_EQ(store_->compare_set("large", large, "small"), "small");
}

TEST_P(StoreTest, RefusesWhatIsTooLarge) {
    const std::string key(5000, 'k');
    expect_error(ErrorCode::invalid_argument, {"4096", "kkk"}, [&] { store_->set(key, ""); });
    const std::string value((std::size_t{64} << 20) + 1, 'v');
    expect_error(ErrorCode::invalid_argument, {"key'"}, [&] { store_->set("key", value); });
    store_->set("key", "fits");
    EXPECT_EQ(store_->get("key", plenty), "fits");
}

TEST_P(StoreTest, GetWaitsForTheKey) {
    std::thread setter([client = fixture_.client()] {
        std::this_thread::sleep_for(20ms);
        client->set("late", "value");
    });
    EXPECT_EQ(store_->get("late", plenty), "value");
    setter.join();
}

TEST_P(StoreTest, WaitWaitsForTheLastOfItsKeys) {
    store_->set("a", "");
    std::thread setter([client = fixture_.client()] {
        std::this_thread::sleep_for(20ms);
        client->set("b", "");
        client->add("c", 1);
        client->compare_set("d", "", "now");
    });
    store_->wait(Keys{"a", "b", "c", "d", "b"}, plenty);
    setter.join();
    store_->wait(Keys{}, 0ms);
}

TEST_P(StoreTest, WaitWantsAllKeysAtTheSameTime) {
    store_->set("a", "");
    std::thread setter([client = fixture_.client()] {
        std::this_thread::sleep_for(20ms);
        client->set("b", "");
        client->delete_key("b");
        client->set("c", "");
        std::this_thread::sleep_for(20ms);
        client->set("b", "again");
    });
    store_->wait(Keys{"a", "b", "c"}, plenty);
    setter.join();
    EXPECT_EQ(store_->get("b", 0ms), "again");
}

TEST_P(StoreTest, TimeoutNamesTheMissingKeysAndLeavesTheStoreUsable) {
    store_->set("here", "");
    for (int round = 0; round < 3; ++round) {
        expect_error(ErrorCode::timeout, {"absent'", "gone'", "30 ms"},
                     [&] { store_->wait(Keys{"here", "absent", "gone"}, 30ms); });
        expect_error(ErrorCode::timeout, {"absent'"}, [&] { (void)store_->get("absent", 10ms); });
        EXPECT_EQ(store_->get("here", plenty), "");
    }
    try {
        store_->wait(Keys{"here", "absent"}, 10ms);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find("here'"), std::string::npos) << error.what();
    }
    store_->set("absent", "came later");
    EXPECT_EQ(store_->get("absent", plenty), "came later");
    EXPECT_EQ(store_->add("number", 5), 5);
}

TEST_P(StoreTest, AnyTimeoutIsSafe) {
    store_->set("key", "value");
    for (const Timeout timeout : {Timeout::max(), Timeout::min(), Timeout(-1), Timeout(0)}) {
        EXPECT_EQ(store_->get("key", timeout), "value");
    }
    expect_error(ErrorCode::timeout, {"absent'"}, [&] { (void)store_->get("absent", 0ms); });
    expect_error(ErrorCode::timeout, {"absent'"},
                 [&] { (void)store_->get("absent", Timeout::min()); });
}

TEST_P(StoreTest, AddCounts) {
    EXPECT_EQ(store_->add("n", 3), 3);
    EXPECT_EQ(store_->add("n", -10), -7);
    EXPECT_EQ(store_->add("n", 0), -7);
    EXPECT_EQ(store_->get("n", plenty), "-7");
    store_->set("n", "9223372036854775806");
    EXPECT_EQ(store_->add("n", 1), INT64_MAX);
    expect_error(ErrorCode::store, {"n'", "9223372036854775807"}, [&] { store_->add("n", 1); });
    store_->set("text", "12 monkeys");
    expect_error(ErrorCode::store, {"text'", "12 monkeys"}, [&] { store_->add("text", 1); });
    EXPECT_EQ(store_->get("text", plenty), "12 monkeys");
}

TEST_P(StoreTest, CompareSetSetsOnlyWhereTheValueIsTheExpectedOne) {
    EXPECT_EQ(store_->compare_set("key", "something", "new"), "");
    EXPECT_FALSE(store_->check(Keys{"key"}));
    EXPECT_EQ(store_->compare_set("key", "", "new"), "new");
    EXPECT_EQ(store_->compare_set("key", "", "newer"), "new");
    EXPECT_EQ(store_->compare_set("key", "old", "newer"), "new");
    EXPECT_EQ(store_->compare_set("key", "new", "newer"), "newer");
    EXPECT_EQ(store_->get("key", plenty), "newer");
}

TEST_P(StoreTest, DeleteRemoves) {
    EXPECT_FALSE(store_->delete_key("key"));
    store_->set("key", "value");
    EXPECT_TRUE(store_->delete_key("key"));
    EXPECT_FALSE(store_->check(Keys{"key"}));
    EXPECT_FALSE(store_->delete_key("key"));
    EXPECT_EQ(store_->add("key", 1), 1);
}

TEST_P(StoreTest, CheckAndNumKeysLookWithoutWaiting) {
    EXPECT_EQ(store_->num_keys(), 0);
    EXPECT_TRUE(store_->check(Keys{}));
    store_->set("a", "");
    store_->set("b", "");
    store_->set("b", "");
    EXPECT_EQ(store_->num_keys(), 2);
    EXPECT_TRUE(store_->check(Keys{"a", "b"}));
    EXPECT_FALSE(store_->check(Keys{"a", "c"}));
}

TEST_P(StoreTest, ManyThreadsCountExactly) {
    constexpr int threads = 8;
    constexpr int rounds = 50;
    run_threads(threads, [&](int i) {
        const auto client = i % 2 == 0 ? store_ : fixture_.client();
        for (int round = 0; round < rounds; ++round) {
            client->add("counter", 1);
        }
    });
    EXPECT_EQ(store_->add("counter", 0), threads * rounds);
}

TEST_P(StoreTest, OneThreadWinsACompareSet) {
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> winners = 0;
        const std::string key = "winner" + std::to_string(round);
        run_threads(8, [&](int i) {
            const auto client = i % 2 == 0 ? store_ : fixture_.client();
            const std::string mine = "thread " + std::to_string(i);
            winners += client->compare_set(key, "", mine) == mine ? 1 : 0;
        });
        EXPECT_EQ(winners, 1);
    }
}

TEST_P(StoreTest, AWaitBlocksNoOtherThreadOfTheSameStore) {
    std::vector<std::thread> waiters;
    for (int i = 0; i < 6; ++i) {
        waiters.emplace_back(
            [this, i] { EXPECT_EQ(store_->get("answer" + std::to_string(i), plenty), "42"); });
    }
    std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 6; ++i) {
        store_->set("answer" + std::to_string(i), "42");
        EXPECT_TRUE(store_->check(Keys{"answer" + std::to_string(i)}));
    }
    for (std::thread& waiter : waiters) {
        waiter.join();
    }
}

TEST_P(StoreTest, OneKeyWakesManyWaiters) {
    run_threads(12, [&](int i) {
        const auto client = fixture_.client();
        client->add("arrived", 1);
        if (i == 0) {
            client->set("go", "");
        }
        client->wait(Keys{"go"}, plenty);
    });
    EXPECT_EQ(store_->add("arrived", 0), 12);
}

TEST_P(StoreTest, DescribesItself) {
    EXPECT_NE(store_->describe().find("store"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest, testing::Values("memory", "file", "tcp", "prefixed"),
                         [](const auto& param) { return std::string(param.param); });

TEST(PrefixStore, KeepsKeysApart) {
    const auto base = memory_store();
    const auto a = prefix_store("a", base);
    const auto b = prefix_store("b", base);
    a->set("key", "in a");
    b->set("key", "in b");
    EXPECT_EQ(base->get("a/key", 0ms), "in a");
    EXPECT_EQ(b->get("key", 0ms), "in b");
    expect_error(ErrorCode::timeout, {"a/absent'"}, [&] { (void)a->get("absent", 0ms); });
    expect_error(ErrorCode::invalid_argument, {"null"}, [] { (void)prefix_store("a", nullptr); });
}

}  // namespace
}  // namespace trireme::test
