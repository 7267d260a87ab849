#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace trireme::test {

/// Holds ranks that are threads together until all of them have come: one that leaves its world
/// would be another reason for the others to fail.
class Meeting {
public:
    explicit Meeting(int ranks) : missing_(ranks) {}
    void wait() {
        --missing_;
        while (missing_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

private:
    std::atomic<int> missing_;
};

}  // namespace trireme::test
