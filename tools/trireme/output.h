#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace trireme::tool {

enum class Channel { out = 1, err = 2 };

/// The launcher's stdout and stderr, written by a thread of their own: a reader that is slow, or
/// stopped (a pager, a paused terminal), must not keep the launcher from hearing signals and from
/// ending ranks. Non-blocking writes would do as well, but O_NONBLOCK belongs to the open file,
/// which the launcher shares with the shell and others.
class Output {
public:
    /// `on_change` is called, on the writing thread, when one of the states below may have changed.
    explicit Output(std::function<void()> on_change);
    ~Output();  ///< waits until all is written
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;

    /// Queues `text`, which is written without anything in between.
    void write(Channel channel, std::string_view text);

    /// More is queued than the readers take: read no more from the ranks for now.
    [[nodiscard]] bool congested() const;
    /// All is written.
    [[nodiscard]] bool idle() const;
    /// Nobody reads stdout any more (EPIPE), as in `trireme run ... | head`.
    [[nodiscard]] bool broken() const;

private:
    struct Chunk {
        Channel channel;
        std::string text;
    };

    void run();
    void write_out(const Chunk& chunk);

    static constexpr std::size_t high_water = std::size_t{1} << 20;
    static constexpr std::size_t low_water = high_water / 4;
    static constexpr std::size_t chunk_size = std::size_t{64} << 10;

    std::function<void()> on_change_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Chunk> queue_;
    std::size_t queued_ = 0;  // bytes, with those being written
    bool congested_ = false;
    bool broken_ = false;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace trireme::tool
