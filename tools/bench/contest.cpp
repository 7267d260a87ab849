#include "contest.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "bench_table.h"

namespace trireme::bench {
namespace {

using std::chrono::steady_clock;

constexpr auto time_to_start = std::chrono::seconds(60);
constexpr int look_every_ms = 100;

// A contestant is left alone after its first turn with a cell where that took many times its time,
// and it was many times slower than the best: more turns would change nothing but the length of the
// run.
constexpr double hopeless = 3;

}  // namespace

/// A contestant in one cell.
struct Contest::Lane {
    Job* job;
    Cell cell;
    std::vector<double> samples{};
    std::uint64_t wrong = 0;
    double first_turn_seconds = 0;
    std::string refusal{};

    [[nodiscard]] bool is_out() const { return !refusal.empty() || !job->failure().empty(); }
    [[nodiscard]] double median() const { return times_of(samples).median; }
};

Contest::Contest(const Options& options, int ranks, const Ground& ground, Progress progress)
    : options_(options), ranks_(ranks), progress_(std::move(progress)) {
    for (Entry& entry : line_up(options, ranks, ground)) {
        jobs_.push_back(std::make_unique<Job>(std::move(entry), ranks, ground));
    }
    await_all(ground);
}

void Contest::await_all(const Ground& ground) {
    const auto deadline = steady_clock::now() + time_to_start;
    const auto is_awaited = [](const auto& job) {
        return job->failure().empty() && !job->is_complete();
    };
    for (;;) {
        const auto awaited = std::ranges::find_if(jobs_, is_awaited);
        if (awaited == jobs_.end()) {
            break;
        }
        progress_(fmt::format("starting {} ranks of {}", ranks_, (*awaited)->entry().name));
        hear_newcomers(ground.listener());
        for (const auto& job : jobs_) {
            if (is_awaited(job)) {
                job->look_for_death();
            }
            if (is_awaited(job) && steady_clock::now() > deadline) {
                job->fail("its ranks did not come up within a minute");
            }
        }
    }
    newcomers_.clear();
}

void Contest::hear_newcomers(int listener) {
    std::vector<pollfd> waiting{{listener, POLLIN, 0}};
    for (const Channel& newcomer : newcomers_) {
        waiting.push_back({newcomer.socket(), POLLIN, 0});
    }
    if (::poll(waiting.data(), waiting.size(), look_every_ms) <= 0) {
        return;
    }
    std::vector<Channel> left;
    for (std::size_t i = 0; i < newcomers_.size(); ++i) {
        if (waiting[i + 1].revents == 0 || introduce(newcomers_[i])) {
            left.push_back(std::move(newcomers_[i]));
        }
    }
    newcomers_ = std::move(left);
    if (waiting.front().revents != 0) {
        newcomers_.emplace_back(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    }
}

// False where there is nothing more to hear from it: it has been taken in, or is gone.
bool Contest::introduce(Channel& newcomer) {
    if (!newcomer.fill()) {
        return false;
    }
    const auto hello = newcomer.take();
    if (!hello) {
        return true;
    }
    for (const auto& job : jobs_) {
        if (job->entry().name == hello->value("contestant", "")) {
            job->admit(std::move(newcomer), *hello);
            break;
        }
    }
    return false;
}

std::vector<Contest::Lane> Contest::lanes_of(const Cell& cell) {
    std::vector<Lane> lanes;
    for (const auto& job : jobs_) {
        for (const bool shared : {false, true}) {
            const bool is_asked = shared ? options_.shared_buffers : options_.user_buffers;
            if (job->entry().is_ours() ? is_asked : !shared) {
                lanes.push_back({job.get(), cell});
                lanes.back().cell.shared = shared;
            }
        }
    }
    return lanes;
}

void Contest::take_turn(Lane& lane, bool check) {
    const auto start = steady_clock::now();
    const auto limit = std::chrono::duration_cast<steady_clock::duration>(
        std::chrono::duration<double>(options_.cell_seconds));
    const auto answers =
        lane.job->ask({{"cell", lane.cell},
                       {"turn",
                        {{"nanoseconds", std::llround(options_.turn_seconds * 1e9)},
                         {"iterations", options_.iterations},
                         {"warmup", options_.warmup},
                         {"check", check}}}},
                      start + limit);
    if (!answers) {
        return;
    }
    for (const auto& answer : *answers) {
        if (answer.contains("refused")) {
            lane.refusal = answer["refused"];
            return;
        }
    }
    // Every rank has timed the same calls; the slowest one's time is that of the call.
    std::vector<double> slowest = answers->front().at("microseconds");
    for (const auto& answer : *answers) {
        const std::vector<double> times = answer.at("microseconds");
        for (std::size_t i = 0; i < slowest.size(); ++i) {
            slowest[i] = std::max(slowest[i], times.at(i));
        }
        lane.wrong += answer.at("wrong").get<std::uint64_t>();
    }
    const std::chrono::duration<double> spent = steady_clock::now() - start;
    if (lane.samples.empty()) {
        lane.first_turn_seconds = spent.count();
    }
    lane.samples.insert(lane.samples.end(), slowest.begin(), slowest.end());
}

std::vector<CellResult> Contest::measure(const Cell& cell) {
    std::vector<Lane> lanes = lanes_of(cell);
    double best = 0;
    for (int turn = 0; turn < options_.turns; ++turn) {
        for (Lane& lane : lanes) {
            const bool gives_up = turn > 0 && !lane.job->entry().is_ours() && !lane.is_out() &&
                                  lane.first_turn_seconds > hopeless * options_.turn_seconds &&
                                  lane.median() > hopeless * best;
            if (lane.is_out() || gives_up) {
                continue;
            }
            progress_(fmt::format("{} {}, {} ranks: {}{}, turn {} of {}", info(cell.operation).name,
                                  size_text(cell.bytes), ranks_, lane.job->entry().name,
                                  lane.cell.shared ? " (shared)" : "", turn + 1, options_.turns));
            take_turn(lane, options_.check);
        }
        for (const Lane& lane : lanes) {
            if (!lane.samples.empty() && (best == 0 || lane.median() < best)) {
                best = lane.median();
            }
        }
    }
    for (const auto& job : jobs_) {
        job->tell({{"release", true}});
    }
    std::vector<CellResult> results;
    for (const Lane& lane : lanes) {
        if (lane.job->entry().is_ours()) {
            results.push_back(summarize(lane, lanes));
        }
    }
    return results;
}

CellResult Contest::summarize(const Lane& ours, const std::vector<Lane>& lanes) const {
    CellResult result;
    result.cell = ours.cell;
    result.ranks = ranks_;
    result.hosts = options_.hosts;
    const auto note_absence = [&](const Lane& lane) {
        if (lane.is_out()) {
            result.left_out[lane.job->entry().name] =
                lane.refusal.empty() ? lane.job->failure() : lane.refusal;
        }
    };
    note_absence(ours);
    if (!ours.samples.empty()) {
        result.ours = times_of(ours.samples);
        result.samples = ours.samples.size();
        if (options_.check) {
            result.wrong = ours.wrong;
        }
    }
    for (const Lane& lane : lanes) {
        const Entry& entry = lane.job->entry();
        if (entry.is_ours()) {
            continue;
        }
        note_absence(lane);
        if (lane.samples.empty()) {
            continue;
        }
        const double median = lane.median();
        result.entries[entry.name] = median;
        const auto [best, is_new] = result.peers.emplace(entry.peer, median);
        best->second = std::min(best->second, median);
        if (lane.wrong > 0) {
            result.peers_wrong[entry.name] = lane.wrong;
        }
    }
    return result;
}

std::vector<std::string> Contest::take_failures() {
    std::vector<std::string> fresh;
    for (const auto& job : jobs_) {
        const std::string& name = job->entry().name;
        if (!job->failure().empty() && std::ranges::find(told_, name) == told_.end()) {
            told_.push_back(name);
            fresh.push_back(
                fmt::format("{} is out, with {} ranks: {}", name, ranks_, job->failure()));
        }
    }
    return fresh;
}

bool Contest::ours_failed() const { return !jobs_.front()->failure().empty(); }

}  // namespace trireme::bench
