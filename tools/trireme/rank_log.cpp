#include "rank_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "failure.h"

namespace trireme::tool {

RankLog::RankLog(const std::string& folder, int rank)
    : path_(fmt::format("{}/rank-{}.log", folder, rank)) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file_) {
        throw system_failure(fmt::format("cannot write {}", path_));
    }
}

std::string RankLog::write(std::string_view bytes) {
    while (file_ && !bytes.empty()) {
        const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
        if (n >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno != EINTR) {
            const int error = errno;
            file_.reset();
            return fmt::format("cannot write {}: {}; the log ends here", path_,
                               std::strerror(error));
        }
    }
    return {};
}

}  // namespace trireme::tool
