#include "observe/trace_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace trireme {

namespace {

constexpr std::string_view trace_prefix = "trireme-";
constexpr std::string_view rank_infix = ".rank-";
constexpr std::string_view part_suffix = ".part";

// "trireme-JOB.rank-3.part"
std::optional<std::pair<std::string, int>> job_and_rank(const std::string& file) {
    const std::size_t infix = file.rfind(rank_infix);
    if (!file.starts_with(trace_prefix) || !file.ends_with(part_suffix) ||
        infix == std::string::npos || infix < trace_prefix.size())
        return std::nullopt;
    int rank = -1;
    const char* const begin = file.data() + infix + rank_infix.size();
    const char* const end = file.data() + file.size() - part_suffix.size();
    if (begin >= end) return std::nullopt;
    const auto [stop, error] = std::from_chars(begin, end, rank);
    if (error != std::errc{} || stop != end || rank < 0) return std::nullopt;
    return std::pair(file.substr(trace_prefix.size(), infix - trace_prefix.size()), rank);
}

std::map<std::pair<std::string, int>, std::filesystem::path> all_parts(
    const std::filesystem::path& folder) {
    std::map<std::pair<std::string, int>, std::filesystem::path> parts;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (auto found = job_and_rank(entry.path().filename().string()))
            parts.emplace(*std::move(found), entry.path());
    return parts;
}

}  // namespace

std::filesystem::path trace_path(const std::filesystem::path& folder, const std::string& job) {
    return folder / fmt::format("{}{}.json", trace_prefix, job);
}

std::filesystem::path trace_part_path(const std::filesystem::path& folder, const std::string& job,
                                      int rank) {
    return folder / fmt::format("{}{}{}{}{}", trace_prefix, job, rank_infix, rank, part_suffix);
}

std::string free_trace_name(const std::filesystem::path& folder) {
    const char* const known = std::getenv("TRIREME_JOB");
    std::string name = known != nullptr ? known : "";
    if (name.starts_with(trace_prefix)) name.erase(0, trace_prefix.size());
    // It is to be a file's name.
    std::erase_if(name, [](unsigned char letter) {
        return std::isalnum(letter) == 0 && letter != '-' && letter != '_';
    });
    name.resize(std::min<std::size_t>(name.size(), 100));
    if (name.empty())
        name = fmt::format("{}-{}",
                           std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count(),
                           ::getpid());
    // A job may make several worlds.
    std::string free = name;
    for (int number = 2; std::filesystem::exists(trace_path(folder, free)) ||
                         std::filesystem::exists(trace_part_path(folder, free, 0));
         ++number)
        free = fmt::format("{}-{}", name, number);
    return free;
}

std::vector<std::filesystem::path> find_trace_parts(const std::filesystem::path& folder,
                                                    const std::string& job) {
    std::vector<std::filesystem::path> parts;
    for (const auto& [key, path] : all_parts(folder))
        if (key.first == job) parts.push_back(path);
    return parts;
}

std::vector<std::string> find_trace_jobs(const std::filesystem::path& folder) {
    std::set<std::string> jobs;
    for (const auto& [key, path] : all_parts(folder)) jobs.insert(key.first);
    return {jobs.begin(), jobs.end()};
}

}  // namespace trireme
