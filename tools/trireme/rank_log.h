#pragma once

#include <string>
#include <string_view>

#include "core/unique_fd.h"

namespace trireme::tool {

/// DIR/rank-N.log: what a rank printed, stdout and stderr as they came, byte for byte.
class RankLog {
public:
    RankLog() = default;  ///< writes nothing
    /// Makes the folder and an empty file; throws Failure where that is impossible.
    RankLog(const std::string& folder, int rank);

    /// Returns an error text when writing fails, once; a full disk does not end the job.
    std::string write(std::string_view bytes);

private:
    std::string path_;
    UniqueFd file_;
};

}  // namespace trireme::tool
