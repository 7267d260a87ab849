#include "store/file_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include "store/limits.h"
#include "store/protocol.h"
#include "trireme/error.h"

namespace trireme::store {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view magic = "TRIREME STORE 1\n";
constexpr std::size_t header_size = 32;
constexpr std::size_t deleted = 0xffffffff;
constexpr off_t smallest_compacted = 4 << 20;

std::string new_header() {
    std::random_device random;
    std::string header(magic);
    while (header.size() < header_size) {
        header += static_cast<char>(random());
    }
    return header;
}

std::string record(std::string_view key, std::string_view value) {
    return encode_length(key.size()) + encode_length(value.size()) + std::string(key) +
           std::string(value);
}

std::string tombstone(std::string_view key) {
    return encode_length(key.size()) + encode_length(deleted) + std::string(key);
}

// All of `bytes` or an errno.
int write_at(int fd, std::string_view bytes, off_t offset) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
            offset += written;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

}  // namespace

FileLog::FileLog(std::string path) : path_(std::move(path)), compact_at_(smallest_compacted) {
    open(O_CREAT);
}

void FileLog::fail(std::string_view action, int error) const {
    throw Error(ErrorCode::store, fmt::format("the file store {}: cannot {} it: {} (errno {})",
                                              path_, action, std::strerror(error), error));
}

void FileLog::fail(std::string_view what) const {
    throw Error(ErrorCode::store, fmt::format("the file store {}: {}", path_, what));
}

void FileLog::open(int flags) {
    fd_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
    if (!fd_) {
        fail(flags & O_CREAT ? "open or create" : "open", errno);
    }
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) {
        fail("inspect", errno);
    }
    if (!S_ISREG(status.st_mode)) {
        fail("it is no regular file");
    }
    pid_ = ::getpid();
}

FileLog::Lock::Lock(FileLog& log, Mode mode, const Deadline& deadline) : log_(log) {
    // A forked child shares the parent's lock, that is, has none: it needs its own open file.
    if (log.pid_ != ::getpid()) {
        log.reopen();
    }
    for (;;) {
        log.lock(mode, deadline);
        try {
            if (log.is_current()) {
                log.refresh();
                return;
            }
        } catch (...) {
            ::flock(log.fd_.get(), LOCK_UN);
            throw;
        }
        log.reopen();  // closes, and so unlocks, the old file
    }
}

FileLog::Lock::~Lock() { ::flock(log_.fd_.get(), LOCK_UN); }

// By trying: flock itself knows no deadline, and a stopped process may hold the lock for ever.
void FileLog::lock(Lock::Mode mode, const Deadline& deadline) {
    const int operation = (mode == Lock::Mode::read ? LOCK_SH : LOCK_EX) | LOCK_NB;
    auto pause = 50us;
    while (::flock(fd_.get(), operation) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            fail("lock", errno);
        }
        if (deadline.passed()) {
            throw Error(ErrorCode::timeout,
                        fmt::format("the file store {}: another process holds its lock", path_));
        }
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(pause * 2, 2ms);
    }
}

bool FileLog::is_current() const {
    struct stat here{};
    struct stat there{};
    if (::fstat(fd_.get(), &here) != 0) {
        fail("inspect", errno);
    }
    if (::stat(path_.c_str(), &there) != 0) {
        fail("find (was it deleted while the job runs?)", errno);
    }
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

void FileLog::reopen() {
    open(0);
    table_.clear();
    end_ = 0;
}

// Brings the table up to date with the file.
void FileLog::refresh() {
    struct stat now{};
    if (::fstat(fd_.get(), &now) != 0) {
        fail("inspect", errno);
    }
    if (now.st_size < end_) {
        fail("it was cut short by somebody else");
    }
    if (end_ == 0) {
        std::string header(header_size, '\0');
        const ssize_t got = ::pread(fd_.get(), header.data(), header_size, 0);
        if (got < 0) {
            fail("read", errno);
        }
        header.resize(static_cast<std::size_t>(got));
        if (header.substr(0, magic.size()) != magic.substr(0, header.size())) {
            fail("the file exists and is no store; it is left as it is. Choose another path");
        }
        if (!header_.empty() && header_ != header) {
            fail("it was replaced by another file while the job runs");
        }
        if (header.size() < header_size) {
            return;  // new: the first writer starts it
        }
        header_ = header;
        end_ = header_size;
    }
    replay(now.st_size);
}

void FileLog::replay(off_t size) {
    while (end_ < size) {
        // The lengths are checked against the file's size before anything is read for them.
        char head[8];
        if (size - end_ < static_cast<off_t>(sizeof head)) {
            return;
        }
        if (::pread(fd_.get(), head, sizeof head, end_) != sizeof head) {
            fail("read", errno);
        }
        const std::size_t key_size = decode_length({head, 4});
        const std::size_t length = decode_length({head + 4, 4});
        const std::size_t value_size = length == deleted ? 0 : length;
        if (key_size > max_key_size || value_size > max_value_size) {
            fail(fmt::format("it is damaged at byte {}", end_));
        }
        const auto whole = static_cast<off_t>(sizeof head + key_size + value_size);
        if (size - end_ < whole) {
            return;
        }
        std::string body(key_size + value_size, '\0');
        std::size_t have = 0;
        while (have < body.size()) {
            const ssize_t got = ::pread(fd_.get(), body.data() + have, body.size() - have,
                                        end_ + static_cast<off_t>(sizeof head + have));
            if (got <= 0) {
                fail("read", got == 0 ? EIO : errno);
            }
            have += static_cast<std::size_t>(got);
        }
        const std::string_view view = body;
        if (length == deleted) {
            table_.erase(view.substr(0, key_size));
        } else {
            table_.set(view.substr(0, key_size), view.substr(key_size));
        }
        end_ += whole;
    }
}

void FileLog::set(std::string_view key, std::string_view value) {
    append(record(key, value));
    table_.set(key, value);
    if (end_ > compact_at_) {
        compact();
    }
}

bool FileLog::erase(std::string_view key) {
    if (table_.find(key) == nullptr) {
        return false;
    }
    append(tombstone(key));
    table_.erase(key);
    return true;
}

void FileLog::append(const std::string& bytes) {
    if (end_ == 0) {
        const std::string header = new_header();
        if (const int error = write_at(fd_.get(), header, 0); error != 0) {
            fail("write", error);
        }
        header_ = header;
        end_ = header_size;
    }
    // What a dead writer left behind the last whole record must not follow the new one.
    if (::ftruncate(fd_.get(), end_) != 0) {
        fail("write", errno);
    }
    if (const int error = write_at(fd_.get(), bytes, end_); error != 0) {
        static_cast<void>(::ftruncate(fd_.get(), end_) == 0);
        fail("write", error);
    }
    end_ += static_cast<off_t>(bytes.size());
}

// Failure costs nothing but space: the log stays as it is.
void FileLog::compact() {
    off_t live = header_size;
    for (const auto& [key, value] : table_.entries()) {
        live += static_cast<off_t>(8 + key.size() + value->size());
    }
    compact_at_ = std::max(smallest_compacted, 4 * live);
    if (end_ <= compact_at_) {
        return;
    }
    const std::string fresh_path = path_ + ".new";
    UniqueFd fresh(::open(fresh_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fresh) {
        return;
    }
    int error = write_at(fresh.get(), header_, 0);
    off_t end = header_size;
    for (const auto& [key, value] : table_.entries()) {
        const std::string bytes = record(key, *value);
        error = error != 0 ? error : write_at(fresh.get(), bytes, end);
        end += static_cast<off_t>(bytes.size());
    }
    if (error != 0 || ::rename(fresh_path.c_str(), path_.c_str()) != 0) {
        ::unlink(fresh_path.c_str());
        return;
    }
    fd_ = std::move(fresh);  // unlocks the old file, which nobody uses any more
    end_ = end;
}

}  // namespace trireme::store
