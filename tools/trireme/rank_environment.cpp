#include "rank_environment.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "store/proof.h"

namespace trireme::tool {

std::string new_job_id() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
        const auto now = std::chrono::system_clock::now().time_since_epoch().count();
        number = static_cast<std::uint64_t>(now) ^ (static_cast<std::uint64_t>(::getpid()) << 44U);
    }
    return fmt::format("trireme-{:016x}", number);
}

std::string new_token() { return store::in_hex(store::random_bytes(32)); }

std::vector<std::string> rank_environment(const Job& job, int rank, const char* const* inherited) {
    const std::string size = std::to_string(job.ranks);
    const std::string number = std::to_string(rank);
    std::map<std::string, std::string, std::less<>> ours{
        {"RANK", number},
        {"LOCAL_RANK", number},
        {"ROLE_RANK", number},
        {"GROUP_RANK", "0"},
        {"WORLD_SIZE", size},
        {"LOCAL_WORLD_SIZE", size},
        {"ROLE_WORLD_SIZE", size},
        {"GROUP_WORLD_SIZE", "1"},
        {"ROLE_NAME", "default"},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", std::to_string(job.master_port)},
        {"TORCHELASTIC_RUN_ID", job.id},
        {"TORCHELASTIC_RESTART_COUNT", "0"},
        {"TORCHELASTIC_MAX_RESTARTS", "0"},
        // "True" would tell PyTorch that the launcher serves a TCPStore on MASTER_PORT; with us
        // rank 0 does. Set rather than left out: the launcher may itself run under torchrun.
        {"TORCHELASTIC_USE_AGENT_STORE", "False"},
        {"TRIREME_STORE", job.store},
        {"TRIREME_JOB", job.id},
        {"TRIREME_TOKEN", job.token},
    };
    std::vector<std::string> result;
    bool has_threads = false;
    for (; *inherited != nullptr; ++inherited) {
        const std::string_view entry = *inherited;
        const std::string_view name = entry.substr(0, entry.find('='));
        has_threads = has_threads || name == "OMP_NUM_THREADS";
        if (!ours.contains(name)) {
            result.emplace_back(entry);
        }
    }
    if (!has_threads) {
        ours["OMP_NUM_THREADS"] = std::to_string(std::max(1, job.cores / job.ranks));
    }
    for (const auto& [name, value] : ours) {
        result.push_back(name + "=" + value);
    }
    return result;
}

}  // namespace trireme::tool
