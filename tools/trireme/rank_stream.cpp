#include "rank_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace trireme::tool {
namespace {

// On a screen that many ranks share, a progress bar cannot overwrite itself: it becomes a line,
// at most one per stream in this time.
constexpr auto progress_interval = std::chrono::seconds(1);

}  // namespace

RankStream::RankStream(asio::io_context& io, UniqueFd pipe, int rank, Channel channel,
                       LinePrinter& printer, RankLog& log)
    : pipe_(io),
      rank_(rank),
      channel_(channel),
      printer_(printer),
      log_(log),
      last_progress_(std::chrono::steady_clock::now() - progress_interval) {
    // Our end of the pipe only: the rank's stays blocking.
    ::fcntl(pipe.get(), F_SETFL, O_RDONLY | O_NONBLOCK);
    pipe_.assign(pipe.release());
}

void RankStream::read_on() {
    if (reading_ || !pipe_.is_open() || printer_.output().congested()) {
        return;
    }
    reading_ = true;
    pipe_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
        reading_ = false;
        if (!error && pipe_.is_open() && read_once() != Got::end) {
            read_on();
        }
    });
}

void RankStream::take_rest() {
    // A child that prints without end must not hold us here; a pipe holds far less than this.
    for (int round = 0; round < 64 && pipe_.is_open(); ++round) {
        if (read_once() != Got::something) {
            break;
        }
    }
    splitter_.finish([this](const Piece& piece) { show(piece); });
}

RankStream::Got RankStream::read_once() {
    std::array<char, std::size_t{32} * 1024> buffer;
    const ssize_t n = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return Got::nothing;
    }
    if (n <= 0) {
        splitter_.finish([this](const Piece& piece) { show(piece); });
        pipe_.close();
        return Got::end;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    if (const std::string error = log_.write(bytes); !error.empty()) {
        printer_.note(error);
    }
    splitter_.feed(bytes, [this](const Piece& piece) { show(piece); });
    return Got::something;
}

void RankStream::show(const Piece& piece) {
    if (piece.progress) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_progress_ < progress_interval) {
            return;
        }
        last_progress_ = now;
    }
    printer_.print(rank_, channel_, piece);
}

}  // namespace trireme::tool
