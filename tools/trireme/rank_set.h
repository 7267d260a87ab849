#pragma once

#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include "ending.h"
#include "line_printer.h"
#include "process.h"
#include "rank_log.h"
#include "rank_stream.h"

namespace trireme::tool {

/// One rank: its process, its output, and in the end how it ended.
struct Rank {
    Rank(asio::io_context& io, Process process, int rank, LinePrinter& printer, RankLog rank_log)
        : number(rank),
          pid(process.pid),
          log(std::move(rank_log)),
          out(io, std::move(process.out), rank, Channel::out, printer, log),
          err(io, std::move(process.err), rank, Channel::err, printer, log),
          pid_fd(io) {
        if (process.pid_fd) {
            pid_fd.assign(process.pid_fd.release());
        }
    }

    int number;
    pid_t pid;
    std::optional<Ending> ending;  ///< none while it runs
    int stopped_by = 0;            ///< the last ending signal that the launcher sent it
    RankLog log;
    RankStream out;
    RankStream err;
    asio::posix::stream_descriptor pid_fd;
};

/// The processes of the job: the ranks and whatever they started.
class RankSet {
public:
    using Ended = std::function<void(Rank&)>;

    /// `guard` is the launcher's own child that no signal here may reach; `ended` is called once
    /// for each rank, in the order in which they ended.
    RankSet(pid_t guard, Ended ended);

    /// Takes a started rank and watches it.
    void add(std::unique_ptr<Rank> rank);

    [[nodiscard]] const std::vector<std::unique_ptr<Rank>>& all() const noexcept { return ranks_; }
    [[nodiscard]] std::vector<int> running() const;

    /// Sends a signal to the rank processes alone.
    void signal_ranks(int signal);
    /// Sends a signal to the process groups of the ranks.
    void signal_groups(int signal);
    /// Sends a signal that is to end them to everything the job started, also to processes that
    /// moved to groups or sessions of their own.
    void end_all(int signal);

    /// Processes, besides the ranks, that still live.
    [[nodiscard]] std::vector<pid_t> leftovers() const;

    /// On SIGCHLD: waits for adopted orphans, and for ranks where the kernel has no process
    /// descriptors.
    void reap();

private:
    void watch(Rank& rank);
    [[nodiscard]] Rank* killed_before(const Rank& rank);
    void rank_ended(Rank& rank);
    [[nodiscard]] Rank* running_rank(pid_t pid) const;

    pid_t guard_;
    Ended ended_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace trireme::tool
