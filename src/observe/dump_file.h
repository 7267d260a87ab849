#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/control.h"
#include "observe/recorder.h"
#include "trireme/error.h"

namespace trireme {

/// Writes a rank's report into a file of its own, `trireme-dump-JOB-rankN-WORLD.json`: when the
/// process gets `dump_signal`, and at the first failure of a group. A later one replaces the file.
class DumpFile final : private DumpListener {
public:
    /// Into `directory`; empty: into the current one, and not at failures. `board` outlives this.
    DumpFile(const BoardAddress& board, int rank, const shm::Token& token, std::string directory);
    DumpFile(const DumpFile&) = delete;
    DumpFile& operator=(const DumpFile&) = delete;
    ~DumpFile();

    /// A group has failed. Only the first failure counts, and only what ranks suffer: not what the
    /// program wanted.
    void note_failure(const Error& error) noexcept;

private:
    void dump_wanted() noexcept override;
    void write(const char* occasion) noexcept;

    BoardAddress board_;
    int rank_;
    shm::Token token_;
    std::string directory_;
    int born_;
    std::mutex mutex_;
    std::string failure_;  // the first one
    std::shared_ptr<Control> control_;
};

}  // namespace trireme
