#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <chrono>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include "core/unique_fd.h"
#include "line_printer.h"
#include "line_splitter.h"
#include "rank_log.h"

namespace trireme::tool {

/// The stdout or stderr of one rank: reads its pipe, cuts it into lines, prints and logs them.
/// Reading pauses while the launcher's own output is congested, so that memory stays bounded and
/// the rank waits as it would on a full pipe.
class RankStream {
public:
    RankStream(asio::io_context& io, UniqueFd pipe, int rank, Channel channel, LinePrinter& printer,
               RankLog& log);

    /// Starts to read; also after a pause, and without effect while it reads or after the end.
    void read_on();

    /// Takes what is in the pipe now and prints it to the last byte: the rank has ended, and its
    /// last line may lack an end. Its children may go on writing.
    void take_rest();

private:
    enum class Got { something, nothing, end };

    Got read_once();
    void show(const Piece& piece);

    asio::posix::stream_descriptor pipe_;
    int rank_;
    Channel channel_;
    LinePrinter& printer_;
    RankLog& log_;
    LineSplitter splitter_;
    std::chrono::steady_clock::time_point last_progress_;
    bool reading_ = false;
};

}  // namespace trireme::tool
