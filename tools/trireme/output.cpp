#include "output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace trireme::tool {

Output::Output(std::function<void()> on_change)
    : on_change_(std::move(on_change)), thread_([this] { run(); }) {}

Output::~Output() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Output::write(Channel channel, std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (queue_.empty() || queue_.back().channel != channel ||
        queue_.back().text.size() + text.size() > chunk_size) {
        queue_.push_back({channel, {}});
    }
    queue_.back().text += text;
    queued_ += text.size();
    congested_ = congested_ || queued_ > high_water;
    wake_.notify_one();
}

bool Output::congested() const {
    const std::lock_guard lock(mutex_);
    return congested_;
}

bool Output::idle() const {
    const std::lock_guard lock(mutex_);
    return queued_ == 0;
}

bool Output::broken() const {
    const std::lock_guard lock(mutex_);
    return broken_;
}

void Output::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) {
            return;
        }
        const Chunk chunk = std::move(queue_.front());
        queue_.pop_front();
        const bool was_broken = broken_;
        lock.unlock();
        write_out(chunk);
        lock.lock();
        queued_ -= chunk.text.size();
        const bool relieved = congested_ && queued_ < low_water;
        congested_ = congested_ && !relieved;
        if (relieved || queued_ == 0 || broken_ != was_broken) {
            lock.unlock();
            on_change_();
            lock.lock();
        }
    }
}

// What cannot be written is dropped: the ranks must not fail because a disk is full.
void Output::write_out(const Chunk& chunk) {
    const int fd = static_cast<int>(chunk.channel);
    std::string_view rest = chunk.text;
    while (!rest.empty()) {
        const ssize_t n = ::write(fd, rest.data(), rest.size());
        if (n >= 0) {
            rest.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {  // somebody else made the open file non-blocking
            pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
            ::poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            const std::lock_guard lock(mutex_);
            broken_ = broken_ || (errno == EPIPE && chunk.channel == Channel::out);
            return;
        }
    }
}

}  // namespace trireme::tool
