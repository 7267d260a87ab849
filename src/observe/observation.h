#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "observe/clock_exchange.h"
#include "observe/collector.h"
#include "observe/metrics.h"
#include "observe/metrics_server.h"
#include "observe/trace_part.h"
#include "trireme/store.h"
#include "trireme/world.h"

namespace trireme {

/// What a rank does for its trace and its metrics, where the world's options ask for them.
///
/// A thread of its own reads the board, ten times a second, and more often the more there is to
/// read: so tracing takes a share of a core, but nothing of the calls' path. At the end rank 0 puts
/// the parts of all ranks together, if all come to their end within some seconds.
class Observation {
public:
    /// Null where nothing is asked for. Throws where the folder or the port cannot be had.
    [[nodiscard]] static std::unique_ptr<Observation> open(const WorldOptions& options,
                                                           const board::Board& board, Store& store,
                                                           int rank, int size);
    Observation(const Observation&) = delete;
    Observation& operator=(const Observation&) = delete;
    ~Observation();

    void show_group(std::uint32_t stream, const std::string& name, std::span<const int> ranks);

    /// Gives the port of the metrics back; the trace goes on.
    void stop_serving() noexcept { server_.reset(); }

    /// The world ends: finishes the trace. Takes some seconds at most, where ranks do not come;
    /// they are not waited for where it is known that not `all_come`.
    void close(Store& store, bool all_come) noexcept;

private:
    using Clock = std::chrono::steady_clock;

    Observation(const board::Board& board, int rank, int size)
        : rank_(rank), size_(size), collector_(board) {}

    void open_trace(const WorldOptions& options, Store& store);
    void open_metrics(const std::string& address, Store& store);
    void run();
    void stop() noexcept;
    std::uint64_t collect();
    void close_trace(Store& store);
    void merge(Store& store);

    int rank_;
    int size_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopped_ = false;
    Collector collector_;
    std::filesystem::path folder_;
    std::string job_;
    std::optional<ClockExchange> clocks_;
    std::optional<TracePart> trace_;
    std::optional<Metrics> metrics_;
    std::optional<MetricsServer> server_;
    std::thread thread_;
};

}  // namespace trireme
