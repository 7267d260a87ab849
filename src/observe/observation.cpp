#include "observe/observation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <vector>

#include "core/host_name.h"
#include "observe/trace_files.h"
#include "observe/trace_merge.h"
#include "observe/warn.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using namespace std::chrono_literals;

constexpr Timeout longest_clock_exchange = 5s;
constexpr Timeout longest_farewell = 5s;
constexpr auto rarely = 100ms;
constexpr auto often = 2ms;

std::int64_t steady_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Both, where both are there.
class Both final : public OperationSink {
public:
    Both(OperationSink* one, OperationSink* other) : sinks_{one, other} {}
    void begun(const board::Entry& entry) override {
        for (OperationSink* sink : sinks_)
            if (sink != nullptr) sink->begun(entry);
    }
    void ended(const board::Entry& entry) override {
        for (OperationSink* sink : sinks_)
            if (sink != nullptr) sink->ended(entry);
    }
    void lost(const board::Entry& entry) override {
        for (OperationSink* sink : sinks_)
            if (sink != nullptr) sink->lost(entry);
    }
    void missed(std::uint64_t count) override {
        for (OperationSink* sink : sinks_)
            if (sink != nullptr) sink->missed(count);
    }

private:
    std::array<OperationSink*, 2> sinks_;
};

}  // namespace

std::unique_ptr<Observation> Observation::open(const WorldOptions& options,
                                               const board::Board& board, Store& store, int rank,
                                               int size) {
    if (options.trace.empty() && options.metrics.empty()) return nullptr;
    std::unique_ptr<Observation> observation(new Observation(board, rank, size));
    if (!options.trace.empty()) observation->open_trace(options, store);
    if (!options.metrics.empty()) observation->open_metrics(options.metrics, store);
    observation->thread_ = std::thread([own = observation.get()] { own->run(); });
    return observation;
}

Observation::~Observation() { stop(); }

// Rank 0 finds a name that no trace in the folder has, and tells the others.
void Observation::open_trace(const WorldOptions& options, Store& store) {
    constexpr const char* name_key = "trace/name";
    constexpr std::uint64_t mebibyte = 1 << 20;
    folder_ = options.trace;
    const std::uint64_t limit = static_cast<std::uint64_t>(options.trace_limit) * mebibyte;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error)
        throw Error(ErrorCode::system, fmt::format("TRIREME_TRACE=\"{}\": cannot make the folder: "
                                                   "{}",
                                                   options.trace, error.message()));
    if (rank_ == 0) {
        job_ = free_trace_name(folder_);
        store.set(name_key, job_);
    } else {
        job_ = store.get(name_key, options.timeout);
    }
    trace_.emplace(
        trace_part_path(folder_, job_, rank_),
        TraceOrigin{.rank = rank_, .size = size_, .host = host_name(), .pid = ::getpid()}, limit,
        collector_);
    clocks_.emplace(store, rank_, size_, steady_clock_identity(), steady_now);
    if (const auto offset = clocks_->start(longest_clock_exchange)) trace_->offset(*offset);
}

void Observation::open_metrics(const std::string& address, Store& store) {
    const char* local_rank = std::getenv("LOCAL_RANK");
    metrics_.emplace(rank_, size_);
    server_.emplace(address, local_rank != nullptr ? std::max(0, std::atoi(local_rank)) : 0,
                    [this] {
                        const std::lock_guard lock(mutex_);
                        collect();
                        return metrics_->text(collector_.under_way(), steady_now());
                    });
    store.set(fmt::format("metrics/{}", rank_), server_->url());
    if (address.ends_with(":0"))
        warn(fmt::format("metrics of rank {} are at {}", rank_, server_->url()));
}

void Observation::show_group(std::uint32_t stream, const std::string& name,
                             std::span<const int> ranks) {
    const std::lock_guard lock(mutex_);
    if (trace_) trace_->group(stream, name, ranks);
}

// Under the mutex.
std::uint64_t Observation::collect() {
    Both sinks(trace_ ? &*trace_ : nullptr, metrics_ ? &*metrics_ : nullptr);
    return collector_.collect(sinks);
}

// The more operations came, the sooner again: what the ring cannot hold any more is lost.
void Observation::run() {
    std::chrono::milliseconds pause = rarely;
    std::unique_lock lock(mutex_);
    while (!stopped_) {
        const std::uint64_t begun = collect();
        if (trace_) trace_->flush(steady_now());
        pause = begun > board::slots / 8 ? pause / 2 : pause * 2;
        pause = std::clamp<std::chrono::milliseconds>(pause, often, rarely);
        wake_.wait_for(lock, pause, [this] { return stopped_; });
    }
}

void Observation::stop() noexcept {
    server_.reset();
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Observation::close(Store& store, bool all_come) noexcept {
    stop();
    if (!trace_) return;
    try {
        if (!all_come) {
            collect();
            trace_->close(steady_now());
            trace_.reset();
            throw Error(ErrorCode::peer_lost, "a group has failed, so not all ranks may come here");
        }
        close_trace(store);
    } catch (const std::exception& error) {
        warn(
            fmt::format("the trace of rank {0} stays in parts ({2}); `trireme trace {1}` puts "
                        "together what is there",
                        rank_, folder_.string(), error.what()));
    }
}

void Observation::close_trace(Store& store) {
    collect();
    std::exception_ptr late;
    try {
        if (const auto offset = clocks_->end(longest_farewell)) trace_->offset(*offset);
    } catch (...) {
        late = std::current_exception();
    }
    trace_->close(steady_now());
    trace_.reset();
    store.set(fmt::format("trace/closed/{}", rank_), "1");
    if (rank_ == 0)
        merge(store);
    else if (late)
        std::rethrow_exception(late);
}

void Observation::merge(Store& store) {
    std::vector<std::string> keys;
    for (int rank = 0; rank < size_; ++rank) keys.push_back(fmt::format("trace/closed/{}", rank));
    store.wait(keys, longest_farewell);
    const auto parts = find_trace_parts(folder_, job_);
    if (parts.size() != static_cast<std::size_t>(size_))
        throw Error(ErrorCode::system,
                    fmt::format("{} of {} are in the folder of this host", parts.size(), size_));
    merge_trace_parts(parts, trace_path(folder_, job_));
    std::error_code ignored;
    for (const auto& part : parts) std::filesystem::remove(part, ignored);
}

}  // namespace trireme
