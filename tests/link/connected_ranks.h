#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/unique_fd.h"
#include "group/bootstrap.h"
#include "trireme/error.h"

namespace trireme::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// One rank that is connected to all others, without an engine.
struct ConnectedRank {
    UniqueFd doorbell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    Connections connections;
    std::exception_ptr error;

    void connect(Store& store, int rank, int size, const WorldOptions& options,
                 std::chrono::milliseconds timeout) {
        try {
            connections = connect_all(store, rank, size, options, doorbell.get(), {}, -1,
                                      Clock::now() + timeout);
        } catch (...) {
            error = std::current_exception();
        }
    }
    [[nodiscard]] Wire& wire(int peer) {
        return *connections.peers[static_cast<std::size_t>(peer)].wire;
    }
    [[nodiscard]] PeerMemory* memory(int peer) {
        return connections.peers[static_cast<std::size_t>(peer)].memory.get();
    }
    [[nodiscard]] std::string error_text() const {
        if (!error) return {};
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& thrown) {
            return thrown.what();
        }
    }
};

/// All ranks of a world as threads of this process, each with its transport.
inline std::vector<std::unique_ptr<ConnectedRank>> connect_threads(
    const std::vector<Transport>& transports, std::chrono::milliseconds timeout = 20s,
    std::shared_ptr<Store> store = memory_store()) {
    const int size = static_cast<int>(transports.size());
    std::vector<std::unique_ptr<ConnectedRank>> ranks;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<ConnectedRank>());
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            WorldOptions options;
            options.transport = transports[static_cast<std::size_t>(rank)];
            ranks[static_cast<std::size_t>(rank)]->connect(*store, rank, size, options, timeout);
        });
    }
    for (std::thread& thread : threads) thread.join();
    return ranks;
}

/// Looks until `condition` holds; false after a time that only a broken program needs.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds patience = 20s) {
    const auto until = Clock::now() + patience;
    while (!condition()) {
        if (Clock::now() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace trireme::test
