#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::tool {

/// What all ranks of a job share.
struct Job {
    std::string id;  ///< unique; TRIREME_JOB and TORCHELASTIC_RUN_ID
    int ranks = 0;
    int cores = 1;  ///< that the whole job may use
    std::uint16_t master_port = 0;
    std::string store;  ///< host:port of the launcher's store
    std::string token;  ///< what its ranks prove to know: a secret, never printed
};

/// A new id for a job, such as "trireme-1f6c0a9b2d3e4f50".
[[nodiscard]] std::string new_job_id();

/// A new token: 32 random bytes in hexadecimal. Throws `Error(system)` where there are none.
[[nodiscard]] std::string new_token();

/// The environment of a rank as "NAME=value" strings: `inherited`, with the job's variables put
/// in place of what was there. docs/launcher.md lists them.
[[nodiscard]] std::vector<std::string> rank_environment(const Job& job, int rank,
                                                        const char* const* inherited);

}  // namespace trireme::tool
