#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/board_layout.h"

namespace trireme {

/// Is told what a collector finds.
class OperationSink {
public:
    OperationSink() = default;
    OperationSink(const OperationSink&) = delete;
    OperationSink& operator=(const OperationSink&) = delete;
    virtual ~OperationSink() = default;

    /// Each operation, once; it may have ended already.
    virtual void begun(const board::Entry& entry) = 0;
    /// Each operation that was told as begun, once it has ended.
    virtual void ended(const board::Entry& entry) = 0;
    /// The end of one that was told as begun will never be known.
    virtual void lost(const board::Entry& entry) = 0;
    /// So many went unseen, or their end did.
    virtual void missed(std::uint64_t count) = 0;
};

/// Reads the operations off this process's own board, for a trace or for metrics.
///
/// It costs the ranks' calls nothing: the recorder writes its ring of 4,096 entries in any case,
/// and this reads it from another thread, as peers do. Between two calls of `collect` more than
/// that may have begun; then the oldest are lost, and counted.
class Collector {
public:
    explicit Collector(const board::Board& board) : board_(board) {}

    /// Returns how many operations have begun since the last time.
    std::uint64_t collect(OperationSink& sink);

    /// Those that had not ended the last time.
    [[nodiscard]] const std::vector<board::Entry>& under_way() const noexcept { return open_; }

    /// A name of the board's table.
    [[nodiscard]] std::string name(std::uint32_t number) const;

private:
    [[nodiscard]] bool read(std::uint64_t number, board::Entry& entry) const noexcept;

    const board::Board& board_;
    std::uint64_t seen_ = 0;
    std::vector<board::Entry> open_;
};

}  // namespace trireme
