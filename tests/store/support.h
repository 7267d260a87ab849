#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "support/temp_dir.h"
#include "trireme/store.h"

namespace trireme::test {

using namespace std::chrono_literals;

/// A timeout that a test reaches only when something is broken, however loaded the machine.
inline constexpr Timeout plenty = 60s;

/// As expect_error, and soon: an error that the store knows of must not wait for a timeout.
template <class Action>
void expect_error_at_once(ErrorCode code, std::initializer_list<std::string> parts, Action action) {
    const auto start = std::chrono::steady_clock::now();
    expect_error(code, parts, std::move(action));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

/// Runs `body(0)` to `body(count - 1)` on a thread each; an exception fails the test.
inline void run_threads(int count, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    std::atomic<int> failures = 0;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            try {
                body(i);
            } catch (const std::exception& error) {
                ++failures;
                ADD_FAILURE() << "thread " << i << ": " << error.what();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

/// Sets environment variables (null unsets them) for the lifetime of this object.
class Environment {
public:
    using Variables = std::vector<std::pair<std::string, const char*>>;

    explicit Environment(const Variables& variables) {
        for (const auto& [key, value] : variables) {
            const char* const before = std::getenv(key.c_str());
            saved_.emplace_back(key, before != nullptr, before != nullptr ? before : "");
            value != nullptr ? ::setenv(key.c_str(), value, 1) : ::unsetenv(key.c_str());
        }
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() {
        for (auto entry = saved_.rbegin(); entry != saved_.rend(); ++entry) {
            const auto& [key, was_set, value] = *entry;
            was_set ? ::setenv(key.c_str(), value.c_str(), 1) : ::unsetenv(key.c_str());
        }
    }

private:
    std::vector<std::tuple<std::string, bool, std::string>> saved_;
};

}  // namespace trireme::test
