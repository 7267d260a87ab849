#include "observe/rank_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "core/host_name.h"

namespace trireme {

namespace {

std::string report_seconds(RankReport::Clock::duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

}  // namespace

std::string world_name(const shm::Token& token) {
    if (token == shm::Token{}) return {};
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    ::EVP_Digest(token.data(), token.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr);
    return fmt::format("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
}

RankReport make_report(const BoardView& board, int pid, std::size_t most) {
    RankReport report{.job = board.job(),
                      .world = world_name(board.token()),
                      .rank = board.rank(),
                      .size = board.size(),
                      .pid = pid,
                      .host = host_name(),
                      .state = process_state(pid),
                      .taken = RankReport::Clock::now(),
                      .made = board.made(),
                      .begun = board.begun()};
    if (const auto errand = board.errand())
        report.errand = RankReport::Errand{errand->first, errand->second};
    for (const board::Membership& one : board.groups())
        report.groups.push_back({.stream = one.stream,
                                 .group = board.name(one.name),
                                 .rank = one.rank,
                                 .size = one.size,
                                 .reached = board.reached(one.stream)});
    report.operations = board.recent(most);
    const board::Waits waits = board.waits();
    for (std::size_t i = 0; i < waits.count; ++i) {
        const board::Wait& wait = waits.waits[i];
        report.waits.push_back({.number = wait.number,
                                .rank = wait.rank,
                                .any = (wait.how & board::wait_for_any) != 0});
    }
    const int peers = std::min(board.size(), static_cast<int>(board::traffic_peers));
    for (int peer = 0; peer < peers; ++peer) {
        const std::uint64_t sent = board.traffic(peer).sent.load(std::memory_order_relaxed);
        const std::uint64_t received = board.traffic(peer).received.load(std::memory_order_relaxed);
        if (sent != 0 || received != 0)
            report.traffic.push_back({.peer = peer, .sent = sent, .received = received});
    }
    return report;
}

std::string describe_doing(const RankReport& report) {
    if (report.state == ProcessState::ended) return "has ended";
    if (const Sighting* one = main_one(report.operations)) {
        std::vector<int> ranks;
        bool any = false;
        for (const RankReport::Wait& wait : report.waits) {
            if (wait.number != one->number) continue;
            ranks.push_back(wait.rank);
            any = any || wait.any;
        }
        std::string text = fmt::format("is in {} on group \"{}\" for {}", one->call, one->group,
                                       report_seconds(report.taken - one->begun));
        if (!ranks.empty())
            text += fmt::format(" and waits for {} {}",
                                any                 ? "any of ranks"
                                : ranks.size() == 1 ? "rank"
                                                    : "ranks",
                                fmt::join(ranks, ", "));
        return text;
    }
    if (report.errand)
        return fmt::format("is {} for {}", report.errand->text,
                           report_seconds(report.taken - report.errand->since));
    if (report.world.empty())
        return fmt::format("is joining its world for {}",
                           report_seconds(report.taken - report.made));
    if (report.operations.empty()) return "has not called anything yet";
    const Sighting& last = *std::ranges::max_element(report.operations, {}, &Sighting::ended);
    return fmt::format("is in user code for {}, after {} on group \"{}\"",
                       report_seconds(report.taken - last.ended), last.call, last.group);
}

}  // namespace trireme
