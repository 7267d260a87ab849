#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/unique_fd.h"
#include "store/deadline.h"
#include "store/table.h"

namespace trireme::store {

/// The file behind a file store: a log of all changes, which every process replays into a table
/// of its own. Used by one thread at a time.
///
/// Layout: 16 bytes "TRIREME STORE 1\n", 16 random bytes that tell this store from any other,
/// then records. A record is u32 key length, u32 value length (all ones: the key is deleted), key,
/// value; numbers little-endian. The file is read and written under flock only, so a record
/// that is cut off was left by a process that died while writing: it is skipped, and overwritten
/// by the next writer.
///
/// A log much larger than what it holds is written anew beside the file and renamed over it. The
/// others see that their open file is no longer the one at the path and open it again; the random
/// bytes tell them that it is the same store, and not one that somebody else put there.
class FileLog {
public:
    explicit FileLog(std::string path);

    /// Holds the lock, with the table up to date, while it lives.
    class Lock {
    public:
        enum class Mode { read, write };
        /// Throws `Error(timeout)` if other processes do not give the lock by the deadline, and
        /// `Error(store)` if the file has gone, was replaced or is damaged.
        Lock(FileLog& log, Mode mode, const Deadline& deadline);
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        ~Lock();

    private:
        FileLog& log_;
    };

    [[nodiscard]] const Table& table() const noexcept { return table_; }

    /// Change log and table; the caller holds the lock for writing.
    void set(std::string_view key, std::string_view value);
    bool erase(std::string_view key);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    void open(int flags);
    void lock(Lock::Mode mode, const Deadline& deadline);
    [[nodiscard]] bool is_current() const;
    void reopen();
    void refresh();
    void replay(off_t size);
    void append(const std::string& record);
    void compact();
    [[noreturn]] void fail(std::string_view action, int error) const;
    [[noreturn]] void fail(std::string_view what) const;

    std::string path_;
    UniqueFd fd_;
    pid_t pid_ = 0;
    std::string header_;  // of the store as first seen; empty before
    off_t end_ = 0;       // up to where the log is in the table
    off_t compact_at_;
    Table table_;
};

}  // namespace trireme::store
