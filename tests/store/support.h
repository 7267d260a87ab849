#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/error.h"
#include "trireme/store.h"

namespace trireme::test {

using namespace std::chrono_literals;

/// A timeout that a test reaches only when something is broken, however loaded the machine.
inline constexpr Timeout plenty = 60s;

/// Runs `action`, which must throw an Error of this code whose text has all these parts.
template <class Action>
void expect_error(ErrorCode code, std::initializer_list<std::string> parts, Action action) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_STREQ(name(error.code()), name(code)) << error.what();
        for (const std::string& part : parts) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << "no \"" << part << "\" in: " << error.what();
        }
    }
}

/// As above, and soon: an error that the store knows of must not wait for a timeout.
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

/// A directory for one test, gone afterwards.
class TempDir {
public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "trireme-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("mkdtemp failed");
        }
        path_ = pattern;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(const std::string& file) const {
        return (path_ / file).string();
    }

private:
    std::filesystem::path path_;
};

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
