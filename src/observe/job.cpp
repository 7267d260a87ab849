#include "observe/job.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "observe/process_state.h"

namespace trireme {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view board_link = "/memfd:trireme-board";
constexpr int most_ancestors = 1000;  // parents change while one looks: no circle is endless

int number_in(const std::string& text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

// The names in a directory that are numbers; empty where it is gone or not ours to read.
std::vector<int> numbers_in(const fs::path& directory) {
    std::vector<int> numbers;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
        if (const int number = number_in(it->path().filename()); number >= 0)
            numbers.push_back(number);
    return numbers;
}

std::vector<int> ancestors_of(int pid) {
    std::vector<int> chain;
    for (; pid > 0 && chain.size() < most_ancestors; pid = parent_of(pid)) chain.push_back(pid);
    return chain;
}

// The process nearest to all of these that is one of them or above them.
int common_ancestor(const std::set<int>& pids) {
    std::vector<int> common = ancestors_of(*pids.begin());
    for (const int pid : pids) {
        const std::vector<int> chain = ancestors_of(pid);
        std::erase_if(common,
                      [&](int one) { return std::ranges::find(chain, one) == chain.end(); });
    }
    return common.empty() ? *pids.begin() : common.front();
}

}  // namespace

std::vector<FoundBoard> find_boards() {
    std::vector<FoundBoard> found;
    for (const int pid : numbers_in("/proc")) {
        const fs::path descriptors = fs::path("/proc") / std::to_string(pid) / "fd";
        for (const int number : numbers_in(descriptors)) {
            std::error_code error;
            const std::string target =
                fs::read_symlink(descriptors / std::to_string(number), error);
            if (error || !target.starts_with(board_link)) continue;
            auto view = BoardView::open({.pid = pid, .descriptor = number});
            // A child that a rank forked holds its descriptors, too.
            if (view && view->pid() == inner_pid(pid))
                found.push_back({.pid = pid, .view = std::move(*view)});
        }
    }
    return found;
}

std::vector<std::size_t> number_jobs(const std::vector<BoardFacts>& boards) {
    std::vector<std::size_t> job(boards.size());
    std::iota(job.begin(), job.end(), std::size_t{0});
    // Whatever is shared joins two jobs into one.
    std::map<std::string, std::size_t> first;
    const auto join = [&](const std::string& shared, std::size_t board) {
        const auto [known, is_new] = first.emplace(shared, board);
        if (!is_new)
            std::ranges::replace(job, std::size_t{job[board]}, std::size_t{job[known->second]});
    };
    for (std::size_t i = 0; i < boards.size(); ++i) {
        join("process " + std::to_string(boards[i].pid), i);
        if (!boards[i].job.empty()) join("job " + boards[i].job, i);
        if (!boards[i].world.empty()) join("world " + boards[i].world, i);
    }
    std::map<std::size_t, std::size_t> numbers;
    for (std::size_t& one : job) one = numbers.emplace(one, numbers.size()).first->second;
    return job;
}

std::vector<RunningJob> find_jobs() {
    std::vector<FoundBoard> boards = find_boards();
    std::vector<BoardFacts> facts;
    for (const FoundBoard& board : boards)
        facts.push_back(
            {.pid = board.pid, .job = board.view.job(), .world = world_name(board.view.token())});
    const std::vector<std::size_t> numbers = number_jobs(facts);
    std::vector<RunningJob> jobs;
    for (std::size_t i = 0; i < boards.size(); ++i) {
        if (numbers[i] >= jobs.size()) jobs.resize(numbers[i] + 1);
        RunningJob& job = jobs[numbers[i]];
        if (job.id.empty()) job.id = facts[i].job;
        job.boards.push_back(std::move(boards[i]));
    }
    for (RunningJob& job : jobs) {
        std::set<int> pids;
        for (const FoundBoard& board : job.boards) pids.insert(board.pid);
        job.pid = common_ancestor(pids);
        job.what = command_of(job.pid);
    }
    return jobs;
}

bool is_within(int pid, int ancestor) {
    return std::ranges::count(ancestors_of(pid), ancestor) != 0;
}

std::vector<RankReport> make_reports(const std::vector<FoundBoard>& boards, std::size_t most) {
    std::vector<RankReport> reports;
    for (const FoundBoard& board : boards)
        reports.push_back(make_report(board.view, board.pid, most));
    return reports;
}

}  // namespace trireme
